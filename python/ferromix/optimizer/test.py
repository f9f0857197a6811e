"""The simplest rule, for tests of what uses optimizers."""

from __future__ import annotations

from typing import Any

from ..ndarray import NDArray
from .rule import Index, Optimizer, register, zeros

__all__ = ["Test"]


@register
class Test(Optimizer):
    """Adds the rescaled gradient to the weight, and keeps a copy of the weight as its state."""

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Zeros."""
        return zeros(weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and `state` to the same."""
        weight += grad * self.rescale_grad
        weight.copyto(state)
