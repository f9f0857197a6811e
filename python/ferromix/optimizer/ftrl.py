"""Follow the regularized leader."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, as_number, register, zeros

__all__ = ["Ftrl"]


@register
class Ftrl(Optimizer):
    r"""FTRL, "follow the regularized leader" (H. B. McMahan and others, 2013).

    With the gradient g rescaled and clipped:

    .. math::

        z &\leftarrow z + g - \frac{\sqrt{n + g^2} - \sqrt{n}}{lr} w, \qquad
        n \leftarrow n + g^2 \\
        w &\leftarrow \frac{\lambda_1 sign(z) - z}{(\beta + \sqrt{n}) / lr + wd}

    where the absolute value of z is above :math:`\lambda_1`, else 0.

    Parameters
    ----------
    lamda1
        The regularization by absolute values.
    learning_rate
        The learning rate, where there is no schedule.
    beta
        Keeps the first rates finite.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = as_number("learning_rate", learning_rate)

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, NDArray]:
        """Zeros for z and n."""
        return zeros(weight), zeros(weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and what is in `state`."""
        self._update_count(index)
        attrs = self._common_attrs(index)
        attrs.update(lamda1=self.lamda1, beta=self.beta)
        nd.ftrl_update(weight, grad, *state, out=weight, **attrs)
