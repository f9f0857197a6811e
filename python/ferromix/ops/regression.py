"""Losses of regression, as the last layer of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import count, is_known

__all__ = ["LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"]

_PARAMS: Params = {"grad_scale": Param("float", 1.0, "The factor of the gradient.")}


class Regression(OperatorProperty):
    """The base of these losses."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "label")
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = _PARAMS
    absolute: ClassVar[bool] = False
    """Whether the error counts by its amount, and not by its square."""

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A label for each output; of outputs of one column the labels may be a vector."""
        data, label = in_shapes
        if data is None:
            return [None, label], [None], []
        if label is None:
            if len(data) != 2 or data[1] > 1:
                label = data
            elif data[1] == 1:
                label = data[:1]
        elif len(label) + 1 == len(data) and data[-1] in (1, -1):
            label = merge_shapes(self.name, "label", label, data[:-1]) or ()
            data = (*label, 1)
        elif len(label) == len(data) or not self._fits(label, data):
            label = merge_shapes(self.name, "label", label, data)
            data = label
        return [data, label], [data], []

    @staticmethod
    def _fits(label: Shape, data: Shape) -> bool:
        """Whether there are as many labels as outputs of each sample."""
        known = is_known(label) and is_known(data)
        return known and label[:1] == data[:1] and count(label) == count(data)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0]), in_shapes[1]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The output may take the place of the data."""
        return [(0, 0)]

    def needs_out_grad(self) -> bool:
        """It is a loss."""
        return False

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        attrs = {**self.attrs, "absolute": self.absolute}
        entries = [graph.out_data[0], graph.in_data[1]]
        return [graph.op("_backward_regression", *entries, **attrs)[0], None]


@register
class LinearRegressionOutput(Regression):
    """The data themselves, with the gradient of the squared error.

    Formula: ``out = data``. Shapes: ``label`` and ``out`` have the shape of ``data``; the label of
    ``(n, 1)`` may be ``(n,)``. Types: floats, all alike.
    Gradient: ``data_grad = grad_scale * (out - label)``, divided by the number of labels of a
    sample, whatever ``out_grad`` is; none for the label.

    Examples
    --------
    >>> data, label = mx.nd.array([[1], [2]]), mx.nd.array([[0], [4]])
    >>> print(mx.nd.LinearRegressionOutput(data, label).asnumpy())
    [[1.]
     [2.]]
    """

    name = "LinearRegressionOutput"
    kernel = "_regression_linear"


@register
class MAERegressionOutput(Regression):
    """The data themselves, with the gradient of the absolute error.

    Formula: ``out = data``. Shapes: ``label`` and ``out`` have the shape of ``data``; the label of
    ``(n, 1)`` may be ``(n,)``. Types: floats, all alike.
    Gradient: ``data_grad = grad_scale`` where ``out > label``, and ``-grad_scale`` elsewhere,
    divided by the number of labels of a sample, whatever ``out_grad`` is; none for the label.

    Examples
    --------
    >>> data, label = mx.nd.array([[1], [2]]), mx.nd.array([[0], [4]])
    >>> print(mx.nd.MAERegressionOutput(data, label).asnumpy())
    [[1.]
     [2.]]
    """

    name = "MAERegressionOutput"
    kernel = "_regression_linear"
    absolute = True


@register
class LogisticRegressionOutput(Regression):
    """The logistic function, with the gradient of the cross entropy.

    Formula: ``out = 1 / (1 + exp(-data))``. Shapes: ``label`` and ``out`` have the shape of
    ``data``; the label of ``(n, 1)`` may be ``(n,)``. Types: floats, all alike.
    Gradient: ``data_grad = grad_scale * (out - label)``, divided by the number of labels of a
    sample, whatever ``out_grad`` is; none for the label.

    Examples
    --------
    >>> data, label = mx.nd.array([[0], [1]]), mx.nd.array([[0], [1]])
    >>> print(mx.nd.LogisticRegressionOutput(data, label).asnumpy().round(4))
    [[0.5   ]
     [0.7311]]
    """

    name = "LogisticRegressionOutput"
    kernel = "_regression_logistic"


@register
class BackwardRegression(Backward):
    """The gradient of these losses, from output and label."""

    name = "_backward_regression"
    arguments = ("out", "label")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "out"}
    dtypes = FLOATS
    params: ClassVar[Params] = {
        **_PARAMS,
        "absolute": Param("bool", False, "Whether only the sign of the error counts."),
    }

    def inplace_options(self) -> list[tuple[int, int]]:
        """The gradient may take the place of the output."""
        return [(0, 0)]
