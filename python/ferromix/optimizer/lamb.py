"""Steps as long as the weights are large."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, each, register, zeros

__all__ = ["LAMB"]


@register
class LAMB(Optimizer):
    r"""LAMB (Y. You and others, 2019): Adam's direction, with a length for each parameter.

    With the gradient g rescaled and clipped, and t the number of the parameter's updates:

    .. math::

        m &\leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        d &= \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon} + wd \cdot w, \qquad
        w \leftarrow w - lr \frac{|w|}{|d|} d

    without the quotient of the norms where one of them is 0.

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    beta1, beta2
        Decay rates of the two moments.
    epsilon
        Keeps the quotient finite.
    lower_bound, upper_bound
        Bounds of the weight's norm; None for none.
    bias_correction
        Whether the moments are divided by what depends on t.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for the two moments."""
        return zeros(weight), zeros(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Changes `weight`, and its moments in `state`; of several parameters, lists of these."""
        for i, w, g, moments in each(index, weight, grad, state):
            direction, length = self._attrs(i)
            d = nd.lamb_update_phase1(w, g, *moments, **direction)
            nd.lamb_update_phase2(w, d, nd.norm(w), nd.norm(d), out=w, **length)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """As :meth:`update`, for a state of :meth:`create_state_multi_precision`."""
        for i, w, g, s in each(index, weight, grad, state):
            if not self._needs_copy(w):
                self.update(i, w, g, s)
                continue
            direction, length = self._attrs(i)
            copy, (mean, variance) = s
            d = nd.mp_lamb_update_phase1(w, g, mean, variance, copy, **direction)
            nd.mp_lamb_update_phase2(w, d, nd.norm(copy), nd.norm(d), copy, out=w, **length)

    def _attrs(self, index: Index) -> tuple[dict[str, Any], dict[str, Any]]:
        """Counts the update; the attributes of its two operators."""
        self._update_count(index)
        direction = self._common_attrs(index)
        length = {"lr": direction.pop("lr")}
        if self.lower_bound:
            length["lower_bound"] = self.lower_bound
        if self.upper_bound:
            length["upper_bound"] = self.upper_bound
        direction.update(
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            t=self._updates_of(index),
            bias_correction=self.bias_correction,
        )
        return direction, length
