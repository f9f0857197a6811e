"""Losses: the root of a backward pass, with a gradient of its own, and the cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, MaybeShape, merge_shapes, register
from .composed import Composed
from .family import FLOATS, Backward, Elementwise
from .param import Param, Params
from .term import Term

__all__ = ["MakeLoss", "SoftmaxCrossEntropy"]

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
    the number of rows along the last axis (``normalization="batch"``), or that of elements above
    ``valid_thresh``, at least 1 (``"valid"``).

    Examples
    --------
    >>> data = mx.nd.array([1, -2])
    >>> data.attach_grad()
    >>> with mx.autograd.record():
    ...     loss = mx.nd.MakeLoss(data * 4, grad_scale=3)
    >>> loss.backward()
    >>> print(loss.asnumpy(), data.grad.asnumpy())
    [ 4. -8.] [12. 12.]
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


@register
class SoftmaxCrossEntropy(Composed):
    """The cross entropy of the softmax of each row and a label, summed over the rows.

    Formula: ``out[0] = -sum(log(softmax(data))[i, label[i]])`` over the rows ``i``. Shapes:
    ``data`` is ``(n, classes)``, ``label`` ``(n,)``, ``out`` ``(1,)``. Types: floats; all alike.
    Gradient: ``data_grad = out_grad * (softmax(data) - one_hot(label))``; none for ``label``.

    Examples
    --------
    >>> data, label = mx.nd.array([[0, 0], [3, 1]]), mx.nd.array([1, 0])
    >>> print(mx.nd.softmax_cross_entropy(data, label).asnumpy())
    [0.8200752]
    """

    name = "softmax_cross_entropy"
    arguments = ("data", "label")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def forward(self, data: Term, label: Term) -> Term:
        """The logarithms, where the class is that of the label."""
        classes = data.op("_contrib_arange_like", axis=1)
        hot = label.op("expand_dims", axis=1).op("broadcast_equal", classes)
        return -(data.op("log_softmax") * hot).op("sum")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A label for each row, and one number."""
        data, label = in_shapes
        data = merge_shapes(self.name, "data", data, (-1, -1))
        label = merge_shapes(self.name, "label", label, data and data[:1])
        return [merge_shapes(self.name, "data", data, label and (*label, -1)), label], [(1,)], []
