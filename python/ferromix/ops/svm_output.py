"""The hinge loss of classes, as the last layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS
from .param import Param, Params
from .term import Term

__all__ = ["SVMOutput"]


@register
class SVMOutput(OperatorProperty):
    """The data themselves, with the gradient of a hinge loss that tells one class from the others.

    Formula: ``out = data``. Shapes: ``out`` has the shape of ``data``, whose last axis has the
    classes; ``label`` lacks it. Types: floats, all alike.
    Gradient: with ``s`` 1 at the label and -1 elsewhere, and ``h = margin - s * data``,
    ``data_grad = -2 * regularization_coefficient * s * h`` where ``h`` is positive, or
    ``-regularization_coefficient * s`` with ``use_linear``, and 0 elsewhere, whatever ``out_grad``
    is; none for the label.

    Examples
    --------
    >>> data, label = mx.nd.array([[0.5, 3, -2]]), mx.nd.array([0])
    >>> data.attach_grad()
    >>> with mx.autograd.record():
    ...     out = mx.nd.SVMOutput(data, label)
    >>> out.backward()
    >>> print(out.asnumpy(), data.grad.asnumpy())
    [[ 0.5  3.  -2. ]] [[-1.  8.  0.]]
    """

    name = "SVMOutput"
    kernel = "_regression_linear"
    arguments = ("data", "label")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "margin": Param("float", 1.0, "How far from 0 the data shall be."),
        "regularization_coefficient": Param("float", 1.0, "The factor of the gradient."),
        "use_linear": Param("bool", False, "Whether distances count, and not their squares."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A label for each row of classes."""
        data, label = in_shapes
        if data is None:
            return [None if label is None else (*label, -1), label], [None], []
        if len(data) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least 2 dimensions"
            )
        label = merge_shapes(self.name, "label", label, data[:-1])
        data = (*(label or ()), data[-1])
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
        """It is a loss."""
        return False

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """By the formula."""
        data, label = (Term(graph, e, "broadcast") for e in graph.in_data)
        scale, linear = self.attrs["regularization_coefficient"], self.attrs["use_linear"]
        classes = data.op("_contrib_arange_like", axis=-1)
        sign = label.op("fix").op("expand_dims", axis=-1).op("broadcast_equal", classes) * 2 - 1
        short = self.attrs["margin"] - sign * data
        if linear:
            return [(sign * short.op("_greater_scalar", scalar=0.0) * -scale).entry, None]
        return [(sign * short.op("relu") * (-2 * scale)).entry, None]
