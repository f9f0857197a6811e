"""Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .rule import Index, Optimizer, register, zeros

__all__ = ["Nadam"]


@register
class Nadam(Optimizer):
    r"""Nadam (T. Dozat, 2016).

    With the gradient g rescaled, increased by wd times the weight w and clipped, t the number of
    the parameter's updates, and :math:`\mu_t = \beta_1 (1 - 0.96^{t \cdot schedule\_decay} / 2)`:

    .. math::

        m &\leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
        v \leftarrow \beta_2 v + (1 - \beta_2) g^2 \\
        w &\leftarrow w - lr
        \frac{(1 - \mu_t) g / (1 - M) + \mu_{t+1} m / (1 - M \mu_{t+1})}
        {\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    M is the product of :math:`\mu` over all updates of all parameters, as in MXNet.

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    beta1, beta2
        Decay rates of the two moments.
    epsilon
        Keeps the quotient finite.
    schedule_decay
        How fast the momentum grows.
    **kwargs
        As in :class:`Optimizer`.
    """

    _counted = (*Optimizer._counted, "m_schedule")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for the two moments."""
        return zeros(weight, DENSE), zeros(weight, DENSE)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and its moments in `state`."""
        self._update_count(index)
        t = self._updates_of(index)
        now, later = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now
        grad = self._bounded(grad * self.rescale_grad + self._get_wd(index) * weight)
        mean, variance = state
        mean *= self.beta1
        mean += (1 - self.beta1) * grad
        variance *= self.beta2
        variance += (1 - self.beta2) * nd.square(grad)
        share = (1 - now) / (1 - self.m_schedule)
        step = share * grad + later / (1 - self.m_schedule * later) * mean
        scale = nd.sqrt(variance / (1 - self.beta2**t)) + self.epsilon
        weight -= self._get_lr(index) * step / scale

    def _momentum(self, t: int) -> float:
        return self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay))
