"""Gradient descent that draws from a distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray
from .rule import Index, Optimizer, register

__all__ = ["SGLD"]


@register
class SGLD(Optimizer):
    r"""Stochastic gradient Langevin dynamics (M. Welling and Y. W. Teh, 2011).

    With the gradient g rescaled and clipped:

    .. math:: w \leftarrow w - \frac{lr}{2} (g + wd \cdot w) + \mathcal{N}(0, lr)

    The noise is drawn from the operators' random numbers (:func:`ferromix.random.seed`).

    Parameters
    ----------
    **kwargs
        As in :class:`Optimizer`.
    """

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`."""
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        weight -= lr / 2 * (self._clipped(grad) + wd * weight)
        weight += nd.random_normal(
            loc=0,
            scale=math.sqrt(lr),
            shape=weight.shape,
            ctx=str(weight.context),
            dtype=weight.dtype_name,
        )
