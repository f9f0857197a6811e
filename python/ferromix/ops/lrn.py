"""Local response normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, register
from .family import FLOATS, Backward, Elementwise
from .param import Param, Params

__all__ = ["LRN"]

_PARAMS = {
    "alpha": Param("float", 1e-4, "The factor of the mean of squares."),
    "beta": Param("float", 0.75, "The exponent."),
    "knorm": Param("float", 2.0, "What is added to the mean of squares."),
    "nsize": Param("int", doc="How many neighbouring channels count.", low=1),
}


@register
class LRN(Elementwise):
    """Every element divided by a power of the squares of its neighbours in other channels.

    Formula: ``out = data / (knorm + alpha / nsize * sum of data ** 2) ** beta``, where the sum is
    over the channel itself and ``(nsize - 1) // 2`` channels on either side. Shapes: ``out`` has
    the shape of ``data``, whose channels are axis 1. Types: floats; halves are computed in float32.
    Gradient: that of the formula.

    Examples
    --------
    >>> data = mx.nd.array([[1, 2, 3]])
    >>> print(mx.nd.LRN(data, nsize=3, alpha=3, beta=1, knorm=0).asnumpy().round(3))
    [[0.2   0.143 0.231]]
    """

    name = "LRN"
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the data, which must have channels."""
        (shape,) = in_shapes
        if shape is not None and len(shape) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {shape}, expected at least 2 dimensions "
                "(batch, channels, ...)"
            )
        return super().infer_shape(in_shapes)

    def inplace_options(self) -> list[tuple[int, int]]:
        """None: neighbours read the data, too."""
        return []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        entries = (graph.out_grad[0], graph.in_data[0])
        return list(graph.op("_backward_LRN", *entries, **self.attrs))


@register
class BackwardLRN(Backward):
    """The gradient of LRN."""

    name = "_backward_LRN"
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS
