"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from os import environ
from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, each, register, zeros

__all__ = ["SGD", "ccSGD"]


@register
class SGD(Optimizer):
    r"""Stochastic gradient descent, with momentum if asked for.

    With the gradient g rescaled, clipped and increased by wd times the weight w:

    .. math:: v \leftarrow momentum \cdot v - lr \cdot g, \qquad w \leftarrow w + v

    Parameters
    ----------
    momentum
        The share of the last step that is kept; without it there is no state.
    lazy_update
        Whether a row_sparse gradient changes its rows only; without it, weight decay and momentum
        change all rows.
    **kwargs
        As in :class:`Optimizer`.

    Examples
    --------
    >>> import ferromix as mx
    >>> sgd = mx.optimizer.SGD(learning_rate=0.5)
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([1.0, -1.0])
    >>> sgd.update(0, weight, grad, sgd.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = int(environ.get("MXNET_OPTIMIZER_AGGREGATION_SIZE", "4"))

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """Zeros for the momentum, or None without it; all rows where all rows change."""
        if self.momentum == 0.0:
            return None
        return zeros(weight, None if self.lazy_update else DENSE)

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """The momentum, and a copy of the weight in float32 where its type calls for it."""
        if not self._asks_for_copy(weight):
            return self.create_state(index, weight)
        copy = weight.astype("float32")
        return self.create_state(index, copy), copy

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Changes `weight`, and its momentum in `state`; of several parameters, lists of these."""
        for i, attrs, w, g, momentum in self._counted_in(index, weight, grad, state):
            self._step(i, attrs, w, g, momentum, None)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """As :meth:`update`, for a state of :meth:`create_state_multi_precision`."""
        for i, attrs, w, g, s in self._counted_in(index, weight, grad, state):
            momentum, copy = s if self._needs_copy(w) else (s, None)
            self._step(i, attrs, w, g, momentum, copy)

    def _counted_in(
        self, index: Any, weight: Any, grad: Any, state: Any
    ) -> Iterator[tuple[Index, dict[str, Any], NDArray, NDArray, Any]]:
        """Counts an update of one or several parameters, and gives each with its attributes."""
        given = list(each(index, weight, grad, state))
        indices = [i for i, *_ in given]
        self._update_count(indices)
        rates = zip(self._get_lrs(indices), self._get_wds(indices), strict=True)
        for (i, w, g, s), (lr, wd) in zip(given, rates, strict=True):
            yield i, self._attrs_at(lr, wd), w, g, s

    def _step(
        self,
        index: Index,
        attrs: dict[str, Any],
        weight: NDArray,
        grad: NDArray,
        momentum: NDArray | None,
        copy: NDArray | None,
    ) -> None:
        """Changes `weight`, its momentum, and its copy in float32, where there are such."""
        self._descend(weight, grad, momentum, copy, attrs)

    def _descend(
        self,
        weight: NDArray,
        grad: NDArray,
        momentum: NDArray | None,
        copy: NDArray | None,
        attrs: dict[str, Any],
    ) -> None:
        if copy is None:
            attrs["lazy_update"] = self.lazy_update
        if momentum is None:
            if copy is None:
                nd.sgd_update(weight, grad, out=weight, **attrs)
            else:
                nd.mp_sgd_update(weight, grad, copy, out=weight, **attrs)
            return
        attrs.setdefault("momentum", self.momentum)
        if copy is None:
            nd.sgd_mom_update(weight, grad, momentum, out=weight, **attrs)
        else:
            nd.mp_sgd_mom_update(weight, grad, momentum, copy, out=weight, **attrs)


@register
class ccSGD(SGD):  # noqa: N801 - MXNet's name
    """:class:`SGD` under an old name."""
