"""Softmax with the gradient of the cross entropy: the usual last layer of a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import count

__all__ = ["SoftmaxOutput"]

_PARAMS = {
    "grad_scale": Param("float", 1.0, "The factor of the gradient."),
    "ignore_label": Param("float", -1.0, "The label without gradient, with `use_ignore`."),
    "multi_output": Param("bool", False, "Whether the classes are along axis 1."),
    "use_ignore": Param("bool", False, "Whether `ignore_label` counts."),
    "preserve_shape": Param("bool", False, "Whether the classes are along the last axis."),
    "normalization": Param(
        "str", "null", "What the gradient is divided by.", choices=("null", "batch", "valid")
    ),
    "out_grad": Param("bool", False, "Whether the gradient of the output is a factor."),
    "smooth_alpha": Param(
        "float", 0.0, "What the wrong classes share of the right one.", low=0, high=1
    ),
}


@register
class SoftmaxOutput(OperatorProperty):
    """Softmax, with the gradient of the cross entropy with integer labels.

    Formula: ``out = softmax(data)`` over axis 1 with ``multi_output``, over the last axis with
    ``preserve_shape``, and else over all but the first axis.
    Shapes: ``out`` has the shape of ``data``; ``label`` has that without the last axis, and for
    ``data`` of ``(n, k, h, w)`` with ``multi_output`` it is ``(n, h * w)``, ``(n, h, w)`` or
    ``(n, 1, h, w)``; probabilities in the shape of ``data`` are labels too. Where a softmax is over
    several axes, the first ``n`` labels are those of the ``n`` samples. Types: floats, all alike;
    halves are computed in float32.
    Gradient: ``data_grad = grad_scale * (out - onehot(label))``, divided by the number of samples
    (``normalization="batch"``) or of those not ignored (``"valid"``), and times ``out_grad`` only
    where the attribute of that name is set; none for the label.

    Examples
    --------
    >>> data, label = mx.nd.array([[1, 1, 1, 1]]), mx.nd.array([2])
    >>> print(mx.nd.SoftmaxOutput(data, label).asnumpy())
    [[0.25 0.25 0.25 0.25]]
    """

    name = "SoftmaxOutput"
    aliases = ("Softmax",)
    arguments = ("data", "label")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The label from the data."""
        data, label = in_shapes
        if data is None:
            return [None, label], [None], []
        allowed = self._labels(data)
        fitting = [shape for shape in allowed if label is None or _fits(label, shape)]
        if fitting:
            label = merge_shapes(self.name, "label", label, fitting[0])
        else:
            words = " or ".join(map(str, allowed))
            raise InvalidArgumentError(
                f"{self.name}: argument 'label' has shape {label}, expected {words} for data of "
                f"shape {data}"
            )
        return [data, label], [data], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0]), in_shapes[1]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data."""
        return [(0, 0)]

    def needs_out_grad(self) -> bool:
        """Only where it is asked for."""
        return self.attrs["out_grad"]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        entries = [graph.out_data[0], graph.in_data[1]]
        if self.attrs["out_grad"]:
            entries.insert(0, graph.out_grad[0])
        return [graph.op("_backward_SoftmaxOutput", *entries, **self.attrs)[0], None]

    def _labels(self, data: Shape) -> list[Shape]:
        """The shapes that a label may have, the usual one first."""
        multi = self.attrs["multi_output"]
        if len(data) < 1 + multi:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least {1 + multi} "
                f"dimensions for multi_output={multi}"
            )
        if len(data) == 1:
            return [data]
        if not multi:
            return [data[:-1], *[data[:1]] * (not self.attrs["preserve_shape"]), data]
        rest = data[2:]
        return [(data[0], count(rest)), (data[0], *rest), (data[0], 1, *rest), data]


def _fits(label: Shape, wanted: Shape) -> bool:
    """Whether two partial shapes may be one."""
    pairs = zip(label, wanted, strict=False)
    return len(label) == len(wanted) and all(a == b or min(a, b) < 0 for a, b in pairs)


@register
class BackwardSoftmaxOutput(Backward):
    """The gradient of SoftmaxOutput, from its output and the label."""

    name = "_backward_SoftmaxOutput"
    arguments = ("out", "label")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "out"}
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def list_arguments(self) -> list[str]:
        """The gradient of the output comes first where it is a factor."""
        return [*["out_grad"] * self.attrs["out_grad"], "out", "label"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """All but the label have the shape of the output."""
        *grads, out, label = in_shapes
        for grad in grads:
            out = merge_shapes(self.name, "out", out, grad)
        return [*[out] * len(grads), out, label], [out], []

    def inplace_options(self) -> list[tuple[int, int]]:
        """The gradient may take the place of the output, or of its gradient."""
        return [(i, 0) for i in range(len(self.list_arguments()) - 1)]
