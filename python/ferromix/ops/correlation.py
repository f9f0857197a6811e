"""The correlation of patches of two tensors of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import require_rank

__all__ = ["Correlation"]

_MOST = (1 << 31) - 1
_PARAMS = {
    "kernel_size": Param("int", 1, "The extent of a patch, an odd number.", low=1, high=_MOST),
    "max_displacement": Param("int", 1, "The furthest displacement.", low=0, high=_MOST),
    "stride1": Param("int", 1, "The distance of places.", low=1, high=_MOST),
    "stride2": Param("int", 1, "The distance of displacements.", low=1, high=_MOST),
    "pad_size": Param("int", 0, "The zeros around both images.", low=0, high=_MOST),
    "is_multiply": Param("bool", True, "Whether to multiply, rather than to subtract."),
}


@register
class Correlation(OperatorProperty):
    """How alike patches of two images are, for all displacements of the second one.

    Formula: ``out[n, d, y, x]`` is the mean over the channels and the elements of a patch of
    ``data1[n, c, v, u] * data2[n, c, v + dy, u + dx]``, or of the magnitude of the difference.
    Patches begin at multiples of ``stride1``, as far from the border of the padded images as
    displacements go; ``(dy, dx)`` is pair ``d`` of the multiples of ``stride2`` up to
    ``max_displacement``, ``dx`` being the faster one.
    Shapes: ``data1`` and ``data2`` are ``(n, c, h, w)``, ``out`` is ``(n, (2 * max_displacement //
    stride2 + 1) ** 2, h', w')``, with ``h' = (h + 2 * pad_size - 2 * max_displacement -
    kernel_size + 1) / stride1``, rounded up. Types: floats; halves are computed in float32.
    Gradient: ``data1_grad[n, c, v, u]`` is the sum of ``out_grad * data2[n, c, v + dy, u + dx]``
    over all patches with that element, divided by their size, and ``data2_grad`` likewise; of a
    difference, the sum of ``out_grad`` times its sign.

    Examples
    --------
    >>> a, b = mx.nd.array([[[[1, 2, 3]]]]), mx.nd.array([[[[1, 0, 0]]]])
    >>> print(mx.nd.Correlation(a, b, pad_size=1).asnumpy()[0, 3:6, 0])
    [[0. 2. 0.]
     [1. 0. 0.]
     [0. 0. 0.]]
    """

    name = "Correlation"
    arguments = ("data1", "data2")
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["kernel_size"] % 2 == 0:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'kernel_size' must be odd, got {self.attrs['kernel_size']}"
            )

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Places in each dimension, and displacements."""
        a, b = in_shapes
        data = merge_shapes(self.name, "data2", b, a)
        side = 2 * (self.attrs["max_displacement"] // self.attrs["stride2"]) + 1
        if data is None:
            return [None, None], [(-1, side * side, -1, -1)], []
        require_rank(self.name, "data1", data, 4, "NCHW")
        extents = [self._extent(data, n) for n in data[2:]]
        return [data, data], [(data[0], side * side, *extents)], []

    def _extent(self, data: Sequence[int], extent: int) -> int:
        names = ("pad_size", "max_displacement", "kernel_size", "stride1")
        pad, reach, kernel, stride = (self.attrs[a] for a in names)
        if extent < 0:
            return -1
        room = extent + 2 * (pad - reach - kernel // 2)
        if room < 1:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data1' of shape {tuple(data)} with pad_size={pad} is too "
                f"small for kernel_size={kernel} and max_displacement={reach}"
            )
        return -(-room // stride)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The number of images from the output, and extents where the stride is 1."""
        (out,), border = out_shapes, self.attrs["max_displacement"] - self.attrs["pad_size"]
        if out is None or len(out) != 4:
            return list(in_shapes)
        more = 2 * (border + self.attrs["kernel_size"] // 2)
        alone = self.attrs["stride1"] == 1
        extents = [n + more if alone and n >= 0 and n + more >= 0 else -1 for n in out[2:]]
        known = (out[0], -1, *extents)
        names = zip(self.arguments, in_shapes, strict=True)
        return [merge_shapes(self.name, name, given, known) for name, given in names]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        return list(
            graph.op("_backward_Correlation", graph.out_grad[0], *graph.in_data, **self.attrs)
        )


@register
class BackwardCorrelation(Backward):
    """The gradients of Correlation."""

    name = "_backward_Correlation"
    arguments = ("out_grad", "data1", "data2")
    gradients: ClassVar[Mapping[str, str]] = {"data1_grad": "data1", "data2_grad": "data2"}
    dtypes = FLOATS
    params: ClassVar[Params] = _PARAMS
