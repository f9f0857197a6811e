"""The root of a backward pass, with a gradient of its own."""

from __future__ import annotations

from typing import ClassVar

from .card import Entry, GradientGraph, register
from .family import FLOATS, Backward, Elementwise
from .param import Param, Params

__all__ = ["MakeLoss"]

PARAMS = {
    "grad_scale": Param("float", 1.0, "The factor of the gradient."),
    "valid_thresh": Param("float", 0.0, "Elements above it count, for `normalization` valid."),
    "normalization": Param(
        "str", "null", "What the gradient is divided by.", choices=("null", "batch", "valid")
    ),
}


@register
class MakeLoss(Elementwise):
    """A copy that is the root of a backward pass, with a gradient that can be scaled.

    Formula: ``out = data``. Shapes: any. Types: floats.
    Gradient: ``data_grad = grad_scale / n``, whatever the gradient of the output, where ``n`` is 1,
    the first extent (``normalization="batch"``), or the number of elements above ``valid_thresh``,
    at least 1 (``"valid"``).

    Examples
    --------
    >>> data = mx.nd.array([1, -2])
    >>> data.attach_grad()
    >>> with mx.autograd.record():
    ...     loss = mx.nd.MakeLoss(data * 4, grad_scale=3, normalization="batch")
    >>> loss.backward()
    >>> print(loss.asnumpy(), data.grad.asnumpy())
    [ 4. -8.] [6. 6.]
    """

    name = "MakeLoss"
    kernel = "_copy"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = PARAMS

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        return [graph.op("_backward_MakeLoss", graph.in_data[0], **self.attrs)[0]]

    def needs_out_grad(self) -> bool:
        """It is a loss."""
        return False


@register
class BackwardMakeLoss(Backward):
    """The gradient of MakeLoss, from its input."""

    name = "_backward_MakeLoss"
    arguments = ("data",)
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = PARAMS
