"""Gradient descent for gradients that come late."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["DCASGD"]


@register
class DCASGD(Optimizer):
    r"""Delay-compensated asynchronous SGD (S. Zheng and others, 2016).

    With the gradient g rescaled and clipped, and p the weight w before the last update:

    .. math::

        v \leftarrow momentum \cdot v - lr (g + wd \cdot w + \lambda g^2 (w - p)), \qquad
        p \leftarrow w, \qquad w \leftarrow w + v

    Parameters
    ----------
    momentum
        The share of the last step that is kept.
    lamda
        How far a gradient is corrected for what changed since it was asked for.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray | None, NDArray]:
        """Zeros for the momentum, or None without it; and a copy of the weight."""
        return None if self.momentum == 0.0 else zeros(weight, DENSE), weight.copy()

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and what is in `state`."""
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        grad = self._clipped(grad)
        momentum, before = state
        late = self.lamda * nd.square(grad) * (weight - before)
        step = -lr * (grad + wd * weight + late)
        if momentum is not None:
            momentum *= self.momentum
            momentum += step
            step = momentum
        weight.copyto(before)
        weight += step
