"""Adaptive gradients."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .rule import Index, Optimizer, register, zeros

__all__ = ["AdaGrad"]


@register
class AdaGrad(Optimizer):
    r"""AdaGrad (J. Duchi and others, 2011).

    With the gradient g rescaled and clipped:

    .. math::

        h \leftarrow h + g^2, \qquad
        w \leftarrow w - lr \left(\frac{g}{\sqrt{h + \epsilon}} + wd \cdot w\right)

    Parameters
    ----------
    eps
        Keeps the quotient finite.
    **kwargs
        As in :class:`Optimizer`.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Zeros for the sum of squares."""
        return zeros(weight)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and the sum of squares in `state`."""
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        if grad.stype == "row_sparse":
            self._update_rows(weight, grad, state, lr, wd)
            return
        grad = self._clipped(grad)
        state += nd.square(grad)
        weight -= lr * (grad / nd.sqrt(state + self.float_stable_eps) + wd * weight)

    def _update_rows(
        self, weight: NDArray, grad: NDArray, state: NDArray, lr: float, wd: float
    ) -> None:
        """Changes the rows that the gradient has."""
        if wd:
            raise InvalidArgumentError(
                f"AdaGrad: weight decay is not supported for row_sparse gradients, got wd={wd}"
            )
        attrs = {"lr": lr, "epsilon": self.float_stable_eps, "rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            attrs["clip_gradient"] = self.clip_gradient
        nd.sparse.adagrad_update(weight, grad, state, out=weight, **attrs)
