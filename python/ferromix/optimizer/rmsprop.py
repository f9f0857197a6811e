"""Steps divided by the root of the mean squared gradient."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, register, zeros

__all__ = ["RMSProp"]


@register
class RMSProp(Optimizer):
    r"""RMSProp (T. Tieleman and G. Hinton, 2012), or its centered form (A. Graves, 2013).

    With the gradient g rescaled, increased by wd times the weight w and clipped:

    .. math::

        n \leftarrow \gamma_1 n + (1 - \gamma_1) g^2, \qquad
        w \leftarrow w - \frac{lr}{\sqrt{n + \epsilon}} g

    and, where it is centered:

    .. math::

        m &\leftarrow \gamma_1 m + (1 - \gamma_1) g \\
        v &\leftarrow \gamma_2 v - \frac{lr}{\sqrt{n - m^2 + \epsilon}} g, \qquad
        w \leftarrow w + v

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    gamma1
        The decay of the averages.
    gamma2
        The decay of the step, where it is centered.
    epsilon
        Keeps the quotient finite.
    centered
        Whether the mean is taken off.
    clip_weights
        The bound of the weight's elements; None for none.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, ...]:
        """Zeros for n; and for m and v, where it is centered."""
        return tuple(zeros(weight) for _ in range(3 if self.centered else 1))

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and what is in `state`."""
        self._update_count(index)
        attrs = self._common_attrs(index)
        attrs.update(gamma1=self.gamma1, epsilon=self.epsilon)
        if self.clip_weights:
            attrs["clip_weights"] = self.clip_weights
        if self.centered:
            nd.rmspropalex_update(weight, grad, *state, out=weight, gamma2=self.gamma2, **attrs)
        else:
            nd.rmsprop_update(weight, grad, *state, out=weight, **attrs)
