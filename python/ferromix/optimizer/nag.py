"""Nesterov's accelerated gradient."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, register, zeros
from .sgd import SGD

__all__ = ["NAG"]


@register
class NAG(SGD):
    r"""Nesterov's accelerated gradient (Y. Nesterov, 1983).

    With the gradient g rescaled, clipped and increased by wd times the weight w:

    .. math::

        v \leftarrow momentum \cdot v - lr \cdot g, \qquad
        w \leftarrow w + momentum \cdot v - lr \cdot g

    Without momentum it is :class:`SGD`.

    Parameters
    ----------
    momentum
        The share of the last step that is kept; without it there is no state.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum=momentum, **kwargs)
        self.aggregate_num = 0

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """Zeros for the momentum, or None without it."""
        return None if self.momentum == 0.0 else zeros(weight, DENSE)

    def _step(
        self,
        index: Index,
        attrs: dict[str, Any],
        weight: NDArray,
        grad: NDArray,
        momentum: NDArray | None,
        copy: NDArray | None,
    ) -> None:
        if momentum is None:
            super()._step(index, attrs, weight, grad, momentum, copy)
            return
        attrs["momentum"] = self.momentum
        if copy is None:
            nd.nag_mom_update(weight, grad, momentum, out=weight, **attrs)
        else:
            nd.mp_nag_mom_update(weight, grad, momentum, copy, out=weight, **attrs)
