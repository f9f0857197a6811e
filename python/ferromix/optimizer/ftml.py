"""Follow the moving leader."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["FTML"]


@register
class FTML(Optimizer):
    r"""FTML, "follow the moving leader" (S. Zheng and J. T. Kwok, 2017).

    With the gradient g rescaled, increased by wd times the weight w and clipped, and t the number
    of the parameter's updates:

    .. math::

        v &\leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        d' &= \frac{1 - \beta_1^t}{lr} \left(\sqrt{\frac{v}{1 - \beta_2^t}} + \epsilon\right) \\
        z &\leftarrow \beta_1 z + (1 - \beta_1) g - (d' - \beta_1 d) w, \qquad
        d \leftarrow d', \qquad w \leftarrow -z / d

    Parameters
    ----------
    beta1, beta2
        Decay rates.
    epsilon
        Keeps d from 0.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Zeros for d, v and z."""
        return zeros(weight, DENSE), zeros(weight, DENSE), zeros(weight, DENSE)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and what is in `state`."""
        self._update_count(index)
        attrs = self._common_attrs(index)
        if "clip_gradient" in attrs:
            attrs["clip_grad"] = attrs.pop("clip_gradient")
        attrs.update(beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon)
        nd.ftml_update(weight, grad, *state, out=weight, t=self._updates_of(index), **attrs)
