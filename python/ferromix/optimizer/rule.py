"""The base of all optimizers: learning rates and weight decays of each parameter.

A parameter is known by an index (an int, or its name). Its rate is that of the optimizer or its
schedule times the multipliers that were set for it, by the symbol's attributes ``__lr_mult__``
and ``__wd_mult__`` or by :meth:`Optimizer.set_lr_mult` and :meth:`Optimizer.set_wd_mult`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

from .. import ndarray as nd
from ..base import require_kind
from ..error import ArgumentTypeError, DeprecatedError, InvalidArgumentError, ScheduledRateError
from ..literal import brief
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from ..registry import Registry
from ..symbol import Symbol

__all__ = ["Index", "Optimizer", "as_number", "create", "each", "register", "zeros"]

Index = int | str
"""How a parameter is known: by its position, or by its name."""


class Optimizer:
    """The base of all optimizers.

    A subclass overrides :meth:`create_state` and :meth:`update`. The numbers of the parameters
    below may be strings.

    Parameters
    ----------
    rescale_grad
        What gradients are multiplied by first; 1 / batch size for gradients that are sums.
    param_idx2name
        Names of parameters by index. Those whose name does not end in ``_weight`` or ``_gamma``
        are not decayed.
    wd
        Weight decay: this times the weight is added to the gradient.
    clip_gradient
        Bound of the rescaled gradient's elements; None for none.
    learning_rate
        The learning rate; 0.01 where neither it nor a schedule is given. A schedule starts from
        it where both are.
    lr_scheduler
        A function from the number of updates to the learning rate.
    sym
        The graph, whose variables may carry multipliers.
    begin_num_update
        The number of updates already made.
    multi_precision
        Whether parameters in float16 or bfloat16 are updated through a copy in float32.
    param_dict
        By index, objects whose ``lr_mult`` and ``wd_mult`` are the multipliers of a parameter.

    Attributes
    ----------
    aggregate_num
        How many parameters an updater hands to :meth:`update` at once, in tuples. 0 where it hands
        them over one by one, as to most rules. :class:`SGD` and :class:`LARS` get 4, or what
        ``MXNET_OPTIMIZER_AGGREGATION_SIZE`` says; this decides only how often a schedule is asked.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]]
    """All optimizers by their names in lower case."""

    _counted: ClassVar[tuple[str, ...]] = ("num_update", "_all_index_update_counts")
    """The attributes that updates change, beside the states."""

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: Symbol | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, Any] | None = None,
    ) -> None:
        learning_rate = as_number("learning_rate", learning_rate)
        self.rescale_grad = as_number("rescale_grad", rescale_grad)
        self.wd = as_number("wd", wd)
        self.clip_gradient = as_number("clip_gradient", clip_gradient)
        if sym is not None:
            require_kind("sym", sym, Symbol, "a Symbol")
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None and learning_rate is None:
            learning_rate = 0.01
        # Not what is used where there is a scheduler.
        self.lr: Any = learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            _set_base(lr_scheduler, learning_rate)
        self.multi_precision = multi_precision
        self.param_dict = dict(param_dict or {})
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        # Each device counts by itself: one optimizer may serve the updaters of several.
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self._device = 0
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        for name in self.idx2name.values():
            require_kind("a name in param_idx2name", name, str, "a string")
        # Attributes only: an optimizer must stay small and picklable.
        self._variables = {} if sym is None else sym.attr_dict()
        self._arguments = () if sym is None else tuple(sym.list_arguments())
        self.set_lr_mult({})
        self.set_wd_mult({})

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Makes a class known by its name; for use as a decorator."""
        return register(klass)

    @staticmethod
    def create_optimizer(name: Optimizer | str, **kwargs: Any) -> Optimizer:
        """An optimizer from its name, as :func:`create`."""
        return create(name, **kwargs)

    # -- rules for subclasses ------------------------------------------------------------------

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """What the optimizer remembers of a parameter: None, an array or a tuple of such."""
        return None

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight` by its gradient, and `state` along; leaves the gradient as it is."""
        raise NotImplementedError(f"{type(self).__name__} must override update")

    # -- lower precision -----------------------------------------------------------------------

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """As :meth:`create_state`, with a copy in float32 where the weight's type calls for it.

        Warns of a weight in float16 that has no copy.
        """
        if self._asks_for_copy(weight):
            master = weight.astype("float32")
            return master, self.create_state(index, master)
        return self.create_state(index, weight)

    def update_multi_precision(
        self, index: Index, weight: NDArray, grad: NDArray, state: Any
    ) -> None:
        """As :meth:`update`, for a state of :meth:`create_state_multi_precision`."""
        if not self._needs_copy(weight):
            self.update(index, weight, grad, state)
            return
        master, inner = state
        self.update(index, master, grad.astype("float32"), inner)
        master.copyto(weight)

    def _asks_for_copy(self, weight: NDArray) -> bool:
        """As :meth:`_needs_copy`, with a warning where a state is made in float16."""
        require_kind("the weight of an optimizer", weight, NDArray, "an NDArray")
        if weight.dtype_name == "float16" and not self.multi_precision:
            warnings.warn(
                f"Accumulating with float16 in optimizer {type(self).__name__}: updates are "
                "rounded at each step, and training may be less accurate or slower; use "
                "multi_precision=True",
                stacklevel=3,
            )
        return self._needs_copy(weight)

    def _needs_copy(self, weight: NDArray) -> bool:
        return self.multi_precision and weight.dtype_name in ("float16", "bfloat16")

    # -- learning rates and decays -------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The learning rate at this number of updates, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate.

        Raises
        ------
        ScheduledRateError
            If the optimizer has a schedule, which would override it.
        """
        if self.lr_scheduler is not None:
            raise ScheduledRateError(
                "the learning rate follows the optimizer's lr_scheduler; "
                "set lr_scheduler.base_lr, or remove the scheduler"
            )
        self.lr = as_number("lr", lr)

    def set_lr_scale(self, args_lrscale: Mapping[Index, float]) -> None:
        """What :meth:`set_lr_mult` was called once; always raises, as in MXNet.

        Raises
        ------
        DeprecatedError
            In any case.
        """
        raise DeprecatedError("set_lr_scale is no more; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: Mapping[Index, float]) -> None:
        """Sets multipliers of the learning rate by index or name, over those of the symbol."""
        self.lr_mult: dict[Index, float] = self._symbol_multipliers("__lr_mult__")
        self.lr_mult.update(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[Index, float]) -> None:
        """Sets multipliers of the weight decay by index or name, over those of the symbol."""
        self.wd_mult: dict[Index, float] = {
            name: 0.0 for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))
        }
        self.wd_mult.update(self._symbol_multipliers("__wd_mult__"))
        self.wd_mult.update(args_wd_mult)

    def _symbol_multipliers(self, attr: str) -> dict[Index, float]:
        found: dict[Index, float] = {}
        for name in self._arguments:
            text = self._variables.get(name, {}).get(attr)
            if text is None:
                continue
            try:
                found[name] = float(text)
            except ValueError:
                raise InvalidArgumentError(
                    f"the attribute {attr} of '{name}' must be a number, got {text[:40]!r}"
                ) from None
        return found

    @property
    def _index_update_count(self) -> dict[Index, int]:
        """The counts of the present device; rules of one's own read them."""
        return self._all_index_update_counts.setdefault(self._device, {})

    def _set_current_context(self, device_id: int) -> None:
        """Which device's counts go on."""
        self._device = device_id

    def _update_count(self, index: Index | Sequence[Index]) -> None:
        counts = self._index_update_count
        indices: Any = index if isinstance(index, (list, tuple)) else [index]
        for one in indices:
            counts[one] = counts.get(one, self.begin_num_update) + 1
            self.num_update = max(self.num_update, counts[one])

    def _updates_of(self, index: Index) -> int:
        """How many updates one parameter has had."""
        if isinstance(index, (list, tuple)):
            raise ArgumentTypeError(
                f"{type(self).__name__}.update takes one parameter at a time, got {brief(index)}"
            )
        return self._index_update_count[index]

    def progress(self) -> dict[str, Any]:
        """What updates have changed beside the states, for :meth:`go_on`."""
        return {name: deepcopy(getattr(self, name)) for name in self._counted}

    def go_on(self, progress: Mapping[str, Any]) -> None:
        """Counts on from what :meth:`progress` gave, of an optimizer of the same class."""
        for name in self._counted:
            if name in progress:
                setattr(self, name, deepcopy(progress[name]))

    def _get_lr(self, index: Index) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Index) -> float:
        return self._get_wds([index])[0]

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        """The rates of several parameters; the schedule is asked once, as it may count calls."""
        rate = self.learning_rate
        return [rate * factor for factor in self._multipliers("lr_mult", indices)]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        return [self.wd * factor for factor in self._multipliers("wd_mult", indices)]

    def _multipliers(self, what: str, indices: Sequence[Index]) -> list[float]:
        own, known = getattr(self, what), self.param_dict
        return [
            getattr(known[i], what) if i in known else self._multiplier(own, i) for i in indices
        ]

    def _multiplier(self, multipliers: Mapping[Index, float], index: Index) -> float:
        if index in multipliers:
            return multipliers[index]
        name = self.idx2name.get(index) if isinstance(index, int) else None
        return 1.0 if name is None else multipliers.get(name, 1.0)

    def _common_attrs(self, index: Index) -> dict[str, Any]:
        """The attributes that all fused update operators share."""
        return self._attrs_at(self._get_lr(index), self._get_wd(index))

    def _attrs_at(self, lr: float, wd: float) -> dict[str, Any]:
        attrs = {"lr": lr, "wd": wd, "rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            attrs["clip_gradient"] = self.clip_gradient
        return attrs

    def _clipped(self, grad: NDArray) -> NDArray:
        """The gradient rescaled, then clipped where a bound is set, for rules without an operator
        of their own.
        """
        return self._bounded(grad * self.rescale_grad)

    def _bounded(self, grad: NDArray) -> NDArray:
        if self.clip_gradient is None:
            return grad
        return nd.clip(grad, a_min=-self.clip_gradient, a_max=self.clip_gradient)


def each(index: Any, weight: Any, grad: Any, state: Any) -> Iterable[tuple[Any, Any, Any, Any]]:
    """One parameter after the other, of one or of several in lists, as an update gets them."""
    if isinstance(index, (list, tuple)):
        return zip(index, weight, grad, state, strict=True)
    return [(index, weight, grad, state)]


def as_number(what: str, value: Any) -> Any:
    """The number that a string has, as from a command line; anything else as it is.

    Raises
    ------
    InvalidArgumentError
        For another string.
    """
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise InvalidArgumentError(f"{what} must be a number, got {brief(value)}") from None


def _set_base(scheduler: LRScheduler, rate: float) -> None:
    try:
        scheduler.base_lr = rate  # Also of users' own classes, whatever they derive from.
    except AttributeError:
        raise ArgumentTypeError(
            f"lr_scheduler must be an LRScheduler, got {type(scheduler).__name__}"
        ) from None


def zeros(weight: NDArray, stype: str | None = None) -> NDArray:
    """Zeros of the shape, type and place of a weight; of its storage type, or of another one."""
    require_kind("the weight of an optimizer", weight, NDArray, "an NDArray")
    place, stype = weight.context, weight.stype if stype is None else stype
    return nd.zeros(weight.shape, ctx=place, dtype=weight.dtype_name, stype=stype)


_registry = Registry(Optimizer, "optimizer")
# The registry's own table, so that it has what is registered later, too.
Optimizer.opt_registry = _registry.table
register = _registry.register
"""Decorator that makes a class known by its name."""


def merge_counts(optimizer: Optimizer, other: Optimizer) -> None:
    """Gives an optimizer the updates that another has counted, where it has more."""
    for device, counted in other._all_index_update_counts.items():
        counts = optimizer._all_index_update_counts.setdefault(device, {})
        for index, count in counted.items():
            counts[index] = max(count, counts.get(index, 0))
    optimizer.num_update = max(optimizer.num_update, other.num_update)


def create(name: Optimizer | str, *args: Any, **kwargs: Any) -> Optimizer:
    """An optimizer from its name.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.optimizer.create("sgd", learning_rate=0.3).learning_rate
    0.3
    """
    return _registry.create(name, *args, **kwargs)
