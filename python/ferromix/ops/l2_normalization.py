"""Division by Euclidean norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS
from .param import Param, Params
from .term import Term

__all__ = ["L2Normalization"]

_AXES: dict[str, dict[str, Any]] = {
    "instance": {"axis": 0, "exclude": True},
    "channel": {"axis": 1},
    "spatial": {"axis": (0, 1), "exclude": True},
}
"""The axes over which the squares of each mode are added."""


@register
class L2Normalization(OperatorProperty):
    """Each instance, channel or position divided by its Euclidean norm.

    Formula: ``out = data / sqrt(sum of data ** 2 + eps)``, where the sum is over all axes but the
    first (``instance``), over axis 1 (``channel``) or over all axes but the first two
    (``spatial``). Shapes: ``out`` has the shape of ``data``, which has at least three dimensions
    unless the mode is ``instance``. Types: floats.
    Gradient: ``(out_grad - out * sum of (out_grad * out)) / sqrt(sum of data ** 2 + eps)``.

    Examples
    --------
    >>> print(mx.nd.L2Normalization(mx.nd.array([[3, 4], [0, 2]])).asnumpy().round(3))
    [[0.6 0.8]
     [0.  1. ]]
    """

    name = "L2Normalization"
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "eps": Param("float", 1e-10, "What is added to the sum of squares.", low=0),
        "mode": Param("str", "instance", "What is normalized.", choices=tuple(_AXES)),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the input."""
        (shape,), mode = in_shapes, self.attrs["mode"]
        least = 1 if mode == "instance" else 3
        if shape is not None and len(shape) < least:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {shape}, expected at least {least} "
                f"dimensions for mode={mode}"
            )
        return [shape], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The norms are known before anything is written."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What is left of the gradient across the direction of the data."""
        g, x, y = (
            Term(graph, e[0], "broadcast") for e in (graph.out_grad, graph.in_data, graph.out_data)
        )
        axes = {**_AXES[self.attrs["mode"]], "keepdims": True}
        norm = ((x * x).op("sum", **axes) + self.attrs["eps"]).op("sqrt")
        return [((g - y * (g * y).op("sum", **axes)) / norm).entry]
