"""What MXNet calls contributed: adaptive gradients with a rate for each row."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .optimizer import Index, Optimizer, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    r"""AdaGrad with one rate for each row of a matrix, such as the vectors of an embedding.

    With the gradient g rescaled and clipped:

    .. math::

        h_i \leftarrow h_i + mean(g_i^2), \qquad
        w_i \leftarrow w_i - lr \frac{g_i}{\sqrt{h_i + \epsilon}}

    A row_sparse gradient changes its rows only.

    Parameters
    ----------
    eps
        Keeps the quotient finite.
    **kwargs
        As in :class:`Optimizer`; there is no weight decay.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Zeros for the sum of squares of each row."""
        shape = (*weight.shape[:1], *(1,) * (len(weight.shape) - 1))
        return nd.zeros(shape, weight.context, weight.dtype_name, stype=weight.stype)

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight`, and the sums of squares in `state`."""
        self._update_count(index)
        if self._get_wd(index):
            raise InvalidArgumentError("GroupAdaGrad: weight decay is not supported")
        if grad.stype != "row_sparse":
            grad = self._clipped(grad)
            squares = nd.square(grad)
            axes = tuple(range(1, len(grad.shape)))
            state += nd.mean(squares, axis=axes, keepdims=True) if axes else squares
            weight -= self._get_lr(index) * grad / nd.sqrt(state + self.float_stable_eps)
            return
        attrs = {
            "lr": self._get_lr(index),
            "epsilon": self.float_stable_eps,
            "rescale_grad": self.rescale_grad,
        }
        if self.clip_gradient:
            attrs["clip_gradient"] = self.clip_gradient
        nd.contrib.group_adagrad_update(weight, grad, state, out=weight, **attrs)
