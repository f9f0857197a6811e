"""Steps by signs."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, register, zeros

__all__ = ["Signum"]


@register
class Signum(Optimizer):
    r"""Signum (J. Bernstein and others, 2018): steps of one length in every element.

    With the gradient g rescaled, clipped and increased by wd times the weight w:

    .. math::

        v &\leftarrow momentum \cdot v - (1 - momentum) \cdot g \\
        w &\leftarrow (1 - lr \cdot wd\_lh) w + lr \cdot sign(v)

    Without momentum it is SignSGD, :math:`w \leftarrow (1 - lr \cdot wd) w - lr \cdot sign(g)`.

    Parameters
    ----------
    learning_rate
        The learning rate; the start of a schedule if there is one.
    momentum
        The decay of the momentum; without it there is no state.
    wd_lh
        Weight decay apart from the momentum.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Index, weight: NDArray) -> NDArray | None:
        """Zeros for the momentum, or None without it."""
        return None if self.momentum == 0.0 else zeros(weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and its momentum in `state`."""
        self._update_count(index)
        attrs = self._common_attrs(index)
        if state is None:
            nd.signsgd_update(weight, grad, out=weight, **attrs)
            return
        attrs.update(momentum=self.momentum, wd_lh=self.wd_lh)
        nd.signum_update(weight, grad, state, out=weight, **attrs)
