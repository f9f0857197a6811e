"""The base of all initializers, which sorts parameters by their names.

A symbol's variables carry names such as ``conv1_weight`` or ``bn_moving_var``; an initializer
sets weights in its own way, and everything else to what its name calls for. A variable that has
an initializer of its own (attribute ``__init__``) is set by that one.

All random numbers come from :mod:`ferromix.random`, so ``mx.random.seed`` fixes them, whatever
the number of threads.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .. import random
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..registry import Registry

__all__ = [
    "InitDesc",
    "Initializer",
    "alias",
    "create",
    "register",
]


Rules = tuple[tuple[str, str], ...]
"""Endings of names, each with the name of the method that sets such parameters."""


class InitDesc(str):
    """The name of a parameter together with what is known of it.

    Parameters
    ----------
    name
        The name of the variable.
    attrs
        The variable's attributes, as in ``Symbol.attr_dict()[name]``.
    global_init
        The initializer that a wrapping initializer may fall back to.

    Examples
    --------
    >>> import ferromix as mx
    >>> desc = mx.init.InitDesc("fc_weight", {"__init__": mx.init.One().dumps()})
    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Zero()(desc, weight)
    >>> float(weight.asnumpy().sum())
    6.0
    """

    attrs: Mapping[str, str]
    global_init: Initializer | None

    def __new__(
        cls,
        name: str,
        attrs: Mapping[str, str] | None = None,
        global_init: Initializer | None = None,
    ) -> InitDesc:
        """A string with attributes."""
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


class Initializer:
    """The base of all initializers: sorts parameters by the ending of their names.

    ====================================================  =====================
    ending                                                value
    ====================================================  =====================
    ``weight``                                            :meth:`_init_weight`
    ``bias``, ``beta``, ``min``                           0
    ``gamma``, ``max``                                    1
    ``weight_quantize``                                   whole, from -127 to 126
    ``bias_quantize``                                     0
    ``moving_mean``, ``running_mean``, ``moving_avg``     0
    ``moving_inv_var``                                    0
    ``moving_var``, ``running_var``                       1
    ====================================================  =====================

    A subclass overrides :meth:`_init_weight`, and any other method for another rule.
    :meth:`_init_default` is asked for all names but those of the first five lines, and has the
    rules of the others. For plain strings that end in ``moving_``... these hold without it.

    Parameters
    ----------
    **kwargs
        The arguments of the subclass, which :meth:`dumps` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print: Callable[[NDArray], Any] = _spread

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], Any] | None = None
    ) -> Initializer:
        """Has every parameter that is set be told to the log, and gives the initializer.

        Parameters
        ----------
        verbose
            Whether to.
        print_func
            What is told of a parameter; by default the norm over the root of its size.
        """
        self._verbose, self._print = verbose, print_func or _spread
        return self

    def __call__(self, desc: InitDesc | str, arr: NDArray) -> None:
        """Sets the parameter `arr` whose name is `desc`.

        Raises
        ------
        ArgumentTypeError
            For what is no array.
        InvalidArgumentError
            For a name with an unknown ending, unless the variable has its own initializer.
        """
        if not hasattr(arr, "shape"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: arr must be an NDArray, got {type(arr).__name__}"
            )
        rules = _BY_ENDING
        if not isinstance(desc, InitDesc):
            warnings.warn(
                "Calling an initializer with a str has been deprecated; use mx.init.InitDesc(name)",
                DeprecationWarning,
                stacklevel=2,
            )
            desc, rules = InitDesc(desc), _BY_ENDING + _OF_STRINGS
        if desc.global_init is None:
            desc.global_init = self
        self._set(desc, arr, rules)
        if self._verbose:
            logging.info("%s initialized: %s", desc, self._print(arr))

    def _set(self, desc: InitDesc, arr: NDArray, rules: Rules) -> None:
        """Sets a parameter by its own initializer, or by the rule for the ending of its name."""
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            return
        getattr(self, _method(desc, rules) or "_init_default")(desc, arr)

    def dumps(self) -> str:
        """The initializer as JSON, as kept in a variable's attribute ``__init__``.

        Examples
        --------
        >>> import ferromix as mx
        >>> mx.init.Normal(0.5).dumps()
        '["normal", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({given})"

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must override _init_weight")

    def _init_bias(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_beta(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_gamma(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_zero(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_quantized_weight(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = random.randint(-127, 127, arr.shape, "int32")

    def _init_quantized_bias(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0

    def _init_default(self, desc: InitDesc, arr: NDArray) -> None:
        method = _method(desc, _STATISTICS)
        if method is not None:
            getattr(self, method)(desc, arr)
            return
        endings = ", ".join(ending for ending, _ in _BY_ENDING + _STATISTICS)
        raise InvalidArgumentError(
            f"no rule sets the parameter '{desc}' of shape {arr.shape}: its name ends in none of "
            f"{endings}; give the variable its own initializer, "
            f"as in mx.sym.Variable('{desc}', init=mx.init.Zero())"
        )


def _spread(arr: NDArray) -> str:
    """The root of the mean of the squares."""
    return f"{float((arr**2).mean().asnumpy().item()) ** 0.5:g}"


def _method(desc: InitDesc, rules: Rules) -> str | None:
    """The name of the method that the first rule which fits gives."""
    return next((method for ending, method in rules if desc.endswith(ending)), None)


_BY_ENDING: Rules = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)

_OF_STRINGS: Rules = (
    ("moving_mean", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("moving_inv_var", "_init_zero"),
    ("moving_var", "_init_one"),
)
"""Further rules for names without attributes, as in MXNet."""

_STATISTICS: Rules = (
    *_OF_STRINGS,
    ("running_mean", "_init_zero"),
    ("running_var", "_init_one"),
)
"""What :meth:`Initializer._init_default` does unless a subclass overrides it."""

_registry = Registry(Initializer, "initializer")
register = _registry.register
"""Decorator that makes a class known by its name."""
alias: Callable[..., Callable[[type], type]] = _registry.alias
"""Decorator that makes a class known by further names."""


def create(*args: Any, **kwargs: Any) -> Initializer:
    """An initializer from its name with arguments, a dict, JSON, or an initializer.

    JSON is what :meth:`Initializer.dumps` writes, or a dict such as
    ``{"initializer": "xavier", "magnitude": 2}``. Keywords alone are such a dict, too.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.init.create("xavier", magnitude=2)
    Xavier(rnd_type='uniform', factor_type='avg', magnitude=2)
    """
    return _registry.create(*args, **kwargs)
