"""Steps that need no learning rate."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["AdaDelta"]


@register
class AdaDelta(Optimizer):
    r"""AdaDelta (M. D. Zeiler, 2012), which has no learning rate.

    With the gradient g rescaled and clipped:

    .. math::

        n &\leftarrow \rho n + (1 - \rho) g^2, \qquad
        d = \sqrt{\frac{s + \epsilon}{n + \epsilon}} g \\
        s &\leftarrow \rho s + (1 - \rho) d^2, \qquad
        w \leftarrow w - d - wd \cdot w

    Parameters
    ----------
    rho
        The decay of the averages.
    epsilon
        Keeps the quotient finite, and the first steps from 0.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for the averages of squared gradients and squared steps."""
        return zeros(weight, DENSE), zeros(weight, DENSE)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and the averages in `state`."""
        self._update_count(index)
        wd, rest = self._get_wd(index), 1 - self.rho
        grad = self._clipped(grad)
        squares, steps = state
        squares *= self.rho
        squares += rest * nd.square(grad)
        step = nd.sqrt(steps + self.epsilon) / nd.sqrt(squares + self.epsilon) * grad
        steps *= self.rho
        steps += rest * nd.square(step)
        weight -= step + wd * weight
