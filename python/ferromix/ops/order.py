"""Operators that put the axes, or the elements along them, into another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES
from .param import Param, Params
from .shapes import normal_axes, normal_axis, require_rank

__all__ = ["DepthToSpace", "Reverse", "SpaceToDepth", "SwapAxis", "Transpose"]


@register
class Transpose(OperatorProperty):
    """The dimensions in another order.

    Formula: ``out[j, i] = data[i, j]``. Shapes: dimension ``k`` of ``out`` is dimension
    ``axes[k]`` of ``data``; empty ``axes`` reverse the order. Types: all.
    Gradient: ``out_grad``, transposed back.

    Examples
    --------
    >>> print(mx.nd.transpose(mx.nd.array([[1, 2], [3, 4]])).asnumpy())
    [[1. 3.]
     [2. 4.]]
    """

    name = "transpose"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "axes": Param("shape", (), "The order of the dimensions; reversed where empty.")
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents, permuted."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        return [shape], [tuple(shape[a] for a in self._order(len(shape)))], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The extents, permuted back."""
        (out,) = out_shapes
        if out is None:
            return list(in_shapes)
        order = self._order(len(out))
        shape = tuple(out[order.index(i)] for i in range(len(out)))
        return [merge_shapes(self.name, "data", in_shapes[0], shape)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The inverse permutation."""
        axes = self.attrs["axes"]
        order = normal_axes(self.name, axes, len(axes))
        inverse = tuple(order.index(i) for i in range(len(order)))
        return [graph.op("transpose", graph.out_grad[0], axes=inverse)[0]]

    def _order(self, rank: int) -> tuple[int, ...]:
        axes = self.attrs["axes"]
        if not axes:
            return tuple(reversed(range(rank)))
        if len(axes) != rank:
            raise InvalidArgumentError(
                f"{self.name}: axes={axes} must name each of the {rank} dimensions of 'data'"
            )
        return normal_axes(self.name, axes, rank)


@register
class SwapAxis(OperatorProperty):
    """Two dimensions exchanged.

    Formula: ``out[j, i] = data[i, j]``. Shapes: extents ``dim1`` and ``dim2`` change places.
    Types: all.
    Gradient: ``out_grad`` with the same two dimensions exchanged.

    Examples
    --------
    >>> mx.nd.swapaxes(mx.nd.zeros((2, 3, 4)), dim1=0, dim2=2).shape
    (4, 3, 2)
    """

    name = "SwapAxis"
    aliases = ("swapaxes",)
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "dim1": Param("int", 0, "One dimension."),
        "dim2": Param("int", 0, "The other one."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape with two extents exchanged."""
        (shape,) = in_shapes
        return [shape], [None if shape is None else self._swap(shape)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The same exchange."""
        (out,) = out_shapes
        if out is None:
            return list(in_shapes)
        return [merge_shapes(self.name, "data", in_shapes[0], self._swap(out))]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same exchange."""
        return [graph.op("SwapAxis", graph.out_grad[0], **self.attrs)[0]]

    def _swap(self, shape: Sequence[int]) -> tuple[int, ...]:
        a, b = (normal_axis(self.name, self.attrs[d], len(shape)) for d in ("dim1", "dim2"))
        out = list(shape)
        out[a], out[b] = out[b], out[a]
        return tuple(out)


@register
class Reverse(OperatorProperty):
    """The elements along axes in reverse order.

    Formula: ``out[i, j] = data[i, n - 1 - j]`` for ``axis = 1``. Shapes: ``out`` has the shape of
    ``data``. Types: all.
    Gradient: ``out_grad``, reversed.

    Examples
    --------
    >>> print(mx.nd.flip(mx.nd.array([[1, 2, 3], [4, 5, 6]]), axis=1).asnumpy())
    [[3. 2. 1.]
     [6. 5. 4.]]
    """

    name = "reverse"
    aliases = ("flip",)
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {"axis": Param("shape", doc="The axes to reverse.")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the input."""
        (shape,), axis = in_shapes, self.attrs["axis"]
        if not axis:
            raise InvalidArgumentError(f"{self.name}: attribute 'axis' must name at least one axis")
        if shape is not None:
            normal_axes(self.name, axis, len(shape))
        return [shape], [shape], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same reversal."""
        return [graph.op("reverse", graph.out_grad[0], **self.attrs)[0]]


class Blocks(OperatorProperty):
    """The base of operators that exchange channels and blocks of pixels."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    params: ClassVar[Params] = {"block_size": Param("int", doc="The side of a block.", low=1)}
    inverse: ClassVar[str]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The inverse operator."""
        return [graph.op(self.inverse, graph.out_grad[0], **self.attrs)[0]]

    def widen(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape after channels have become pixels."""
        side = self.attrs["block_size"]
        n, c, h, w = shape
        if c >= 0 and c % (side * side):
            raise InvalidArgumentError(
                f"{self.name}: shape {tuple(shape)} has {c} channels, which block_size={side} "
                f"does not divide: a multiple of {side * side} is needed"
            )
        return (n, c if c < 0 else c // (side * side), *(x if x < 0 else x * side for x in (h, w)))

    def deepen(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape after pixels have become channels."""
        side = self.attrs["block_size"]
        n, c, h, w = shape
        if any(x >= 0 and x % side for x in (h, w)):
            raise InvalidArgumentError(
                f"{self.name}: block_size={side} does not divide height and width of shape "
                f"{tuple(shape)}"
            )
        return (n, c if c < 0 else c * side * side, *(x if x < 0 else x // side for x in (h, w)))


@register
class DepthToSpace(Blocks):
    """Channels spread over blocks of pixels.

    Formula: ``out[n, c, h * b + i, w * b + j] = data[n, (i * b + j) * C + c, h, w]`` for
    ``C`` channels of ``out``. Shapes: ``(n, c * b * b, h, w)`` becomes ``(n, c, h * b, w * b)``.
    Types: all.
    Gradient: ``space_to_depth`` of ``out_grad``.

    Examples
    --------
    >>> a = mx.nd.array([1, 2, 3, 4]).reshape((1, 4, 1, 1))
    >>> print(mx.nd.depth_to_space(a, block_size=2).asnumpy()[0, 0])
    [[1. 2.]
     [3. 4.]]
    """

    name = "depth_to_space"
    inverse = "space_to_depth"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Fewer channels, more pixels."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        require_rank(self.name, "data", shape, 4, "NCHW")
        return [shape], [self.widen(shape)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """More channels, fewer pixels."""
        (out,) = out_shapes
        if out is None or len(out) != 4:
            return list(in_shapes)
        return [merge_shapes(self.name, "data", in_shapes[0], self.deepen(out))]


@register
class SpaceToDepth(Blocks):
    """Blocks of pixels gathered into channels.

    Formula: ``out[n, (i * b + j) * C + c, h, w] = data[n, c, h * b + i, w * b + j]`` for ``C``
    channels of ``data``. Shapes: ``(n, c, h * b, w * b)`` becomes ``(n, c * b * b, h, w)``.
    Types: all.
    Gradient: ``depth_to_space`` of ``out_grad``.

    Examples
    --------
    >>> a = mx.nd.array([[1, 2], [3, 4]]).reshape((1, 1, 2, 2))
    >>> print(mx.nd.space_to_depth(a, block_size=2).asnumpy().reshape(-1))
    [1. 2. 3. 4.]
    """

    name = "space_to_depth"
    inverse = "depth_to_space"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """More channels, fewer pixels."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        require_rank(self.name, "data", shape, 4, "NCHW")
        return [shape], [self.deepen(shape)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Fewer channels, more pixels."""
        (out,) = out_shapes
        if out is None or len(out) != 4:
            return list(in_shapes)
        return [merge_shapes(self.name, "data", in_shapes[0], self.widen(out))]
