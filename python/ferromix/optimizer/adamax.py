"""Adam with the largest gradient in the place of its mean square."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["Adamax"]


@register
class Adamax(Optimizer):
    r"""Adamax (D. P. Kingma and J. Ba, 2014).

    With the gradient g rescaled, increased by wd times the weight w and clipped, and t the number
    of the parameter's updates:

    .. math::

        m \leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        u \leftarrow \max(\beta_2 u, |g|), \qquad
        w \leftarrow w - \frac{lr}{1 - \beta_1^t} \frac{m}{u}

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    beta1, beta2
        Decay rates.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for the mean and the largest gradient."""
        return zeros(weight, DENSE), zeros(weight, DENSE)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and what is in `state`."""
        self._update_count(index)
        lr = self._get_lr(index) / (1 - self.beta1 ** self._updates_of(index))
        grad = self._bounded(grad * self.rescale_grad + self._get_wd(index) * weight)
        mean, largest = state
        mean *= self.beta1
        mean += (1 - self.beta1) * grad
        largest[:] = nd.maximum(self.beta2 * largest, nd.abs(grad))
        weight -= lr * mean / largest
