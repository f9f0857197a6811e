"""The windows of images as columns of a matrix, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .convolution import LAYOUTS, WINDOWS, window_rank
from .family import FLOATS
from .linear import Back, Linear
from .param import Param, Params
from .shapes import count, require_rank, spatial

__all__ = ["Col2Im", "Im2Col"]


def _windows(card: OperatorProperty, extents: Sequence[int]) -> list[int]:
    """The number of windows along each axis."""
    found = []
    for i, extent in enumerate(extents):
        kernel, stride, dilate, pad = (card.attrs[a][i] for a in WINDOWS)
        room = extent + 2 * pad - dilate * (kernel - 1) - 1
        if extent >= 0 > room:
            raise InvalidArgumentError(
                f"{card.name}: images of {tuple(extents)} with pad={card.attrs['pad']} are smaller "
                f"than kernel={card.attrs['kernel']} with dilate={card.attrs['dilate']}"
            )
        found.append(-1 if extent < 0 else room // stride + 1)
    return found


@register
class Im2Col(Linear):
    """The windows of a convolution as columns of a matrix.

    Formula: ``out[n, (c, i, j), (y, x)] = data[n, c, y * stride + i * dilate - pad,
    x * stride + j * dilate - pad]``, and 0 outside of the image.
    Shapes: ``data`` is ``(n, c, h, w)``, ``out`` has the rows of ``c`` and ``kernel`` and the
    columns of the output of a convolution: ``(n, c * kernel[0] * kernel[1], h' * w')``; one and
    three dimensions likewise. Types: floats.
    Gradient: ``col2im`` of ``out_grad``.

    Examples
    --------
    >>> print(mx.nd.im2col(mx.nd.array([[[1, 2, 3]]]), kernel=(2,)).asnumpy())
    [[[1. 2.]
      [2. 3.]]]
    """

    name = "im2col"
    back = "_backward_im2col"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = WINDOWS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        window_rank(self)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A row for each element of a window, a column for each window."""
        (data,), kernel = in_shapes, self.attrs["kernel"]
        if data is None:
            return [None], [(-1, -1, -1)], []
        require_rank(self.name, "data", data, len(kernel) + 2, LAYOUTS[len(kernel)])
        rows = -1 if data[1] < 0 else data[1] * prod(kernel)
        return [data], [(data[0], rows, count(_windows(self, data[2:])))], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Images and channels from the output."""
        (out,), size = out_shapes, prod(self.attrs["kernel"])
        if out is None or len(out) != 3:
            return list(in_shapes)
        channels = out[1] // size if out[1] >= 0 and out[1] % size == 0 else -1
        known = (out[0], channels, *[-1] * len(self.attrs["kernel"]))
        return [merge_shapes(self.name, "data", in_shapes[0], known)]


@register
class BackwardIm2Col(Back):
    """The gradient of im2col, which adds up what windows share."""

    name = "_backward_im2col"
    forward = "im2col"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = WINDOWS


@register
class Col2Im(OperatorProperty):
    """Images from the windows of a convolution: elements that windows share are added up.

    Formula: ``out[n, c, y, x]`` is the sum of ``data[n, (c, i, j), (v, u)]`` with
    ``v * stride + i * dilate - pad = y``, and likewise for ``x``.
    Shapes: ``out`` is ``(n, c, *output_size)``; ``data`` what ``im2col`` makes of it. Types:
    floats. Gradient: ``im2col`` of ``out_grad``.

    Examples
    --------
    >>> data = mx.nd.array([[[1, 2], [10, 20]]])
    >>> print(mx.nd.col2im(data, output_size=(3,), kernel=(2,)).asnumpy())
    [[[ 1. 12. 20.]]]
    """

    name = "col2im"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = {
        "output_size": Param("shape", doc="The extents of the images.", low=1),
        **WINDOWS,
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        rank, size = window_rank(self), self.attrs["output_size"]
        self.attrs["output_size"] = spatial(self.name, "output_size", size, rank, 1, 1)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Channels from the rows."""
        size, taps = self.attrs["output_size"], prod(self.attrs["kernel"])
        columns = (-1, -1, prod(_windows(self, size)))
        data = merge_shapes(self.name, "data", in_shapes[0], columns)
        assert data is not None
        if data[1] >= 0 and data[1] % taps:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has {data[1]} rows, no multiple of "
                f"the {taps} elements of kernel={self.attrs['kernel']}"
            )
        return [data], [(data[0], -1 if data[1] < 0 else data[1] // taps, *size)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Rows from the channels."""
        (out,), taps = out_shapes, prod(self.attrs["kernel"])
        if out is None:
            return list(in_shapes)
        known = (out[0], -1 if out[1] < 0 else out[1] * taps, -1)
        return [merge_shapes(self.name, "data", in_shapes[0], known)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The windows of what flows back."""
        attrs = {k: self.attrs[k] for k in WINDOWS}
        return [graph.op("im2col", graph.out_grad[0], **attrs)[0]]
