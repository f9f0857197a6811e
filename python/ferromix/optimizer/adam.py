"""Adaptive moment estimation."""

from __future__ import annotations

import math
from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["Adam"]


@register
class Adam(Optimizer):
    r"""Adam (D. P. Kingma and J. Ba, 2014).

    With the gradient g rescaled, increased by wd times the weight w and clipped, and t the number
    of the parameter's updates:

    .. math::

        m &\leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        w &\leftarrow w - lr \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t}
        \frac{m}{\sqrt{v} + \epsilon}

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    beta1, beta2
        Decay rates of the two moments.
    epsilon
        Keeps the quotient finite.
    lazy_update
        Whether a row_sparse gradient changes its rows only.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for the two moments; all rows where all rows change."""
        stype = None if self.lazy_update else DENSE
        return zeros(weight, stype), zeros(weight, stype)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and its moments in `state`."""
        self._update_count(index)
        t = self._updates_of(index)
        attrs = self._common_attrs(index)
        attrs["lr"] *= math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
        mean, variance = state
        nd.adam_update(
            weight,
            grad,
            mean,
            variance,
            out=weight,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            lazy_update=self.lazy_update,
            **attrs,
        )
