"""Operators that repeat a tensor along axes of extent 1, and the sum that undoes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, register
from .family import ALL_TYPES, NUMBERS
from .param import Param, Params
from .shapes import broadcast, normal_axes, normal_axis

__all__ = ["BroadcastAxis", "BroadcastLike", "BroadcastTo"]


@register
class SumLike(OperatorProperty):
    """The gradient of broadcasting: ``data``, summed down to the shape of ``like``."""

    name = "_sum_like"
    hidden = True
    arguments = ("data", "like")
    dtypes = NUMBERS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The output has the shape of ``like``."""
        return list(in_shapes), [in_shapes[1]], []

    def ignored_inputs(self) -> list[int]:
        """``like`` gives its shape only."""
        return [1]

    def inplace_options(self) -> list[tuple[int, int]]:
        """Where nothing was spread, nothing is left to do."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output, spread over the axes of the sum; none for ``like``."""
        return [graph.op("broadcast_like", graph.out_grad[0], graph.in_data[0])[0], None]


class Spread(OperatorProperty):
    """The base of operators that broadcast one input to a larger shape."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    kernel: ClassVar[str | None] = "broadcast_to"

    def check_spread(self, shape: Shape, target: Shape) -> None:
        """Raises where `shape` does not broadcast to `target`, as far as both are known."""
        spread = broadcast(self.name, (self.arguments[0], "shape"), shape, target) or ()
        pairs = zip(spread, target, strict=False)
        if len(spread) != len(target) or any(n != m for n, m in pairs if n >= 0 and m >= 0):
            raise InvalidArgumentError(
                f"{self.name}: argument '{self.arguments[0]}' of shape {shape} does not "
                f"broadcast to {target}"
            )

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The sum over the axes that were spread; a second input has none."""
        grad = graph.op("_sum_like", graph.out_grad[0], graph.in_data[0])[0]
        return [grad, *[None] * (len(self.arguments) - 1)]


@register
class BroadcastTo(Spread):
    """The input, repeated along axes of extent 1 to fill a shape.

    Formula: ``out[i, j] = data[i, 0]``. Shapes: ``shape`` has as many dimensions as ``data``; a 0
    in it keeps the extent of ``data``. Types: all.
    Gradient: ``out_grad``, summed over the repeated axes.

    Examples
    --------
    >>> print(mx.nd.broadcast_to(mx.nd.array([[1], [2]]), shape=(2, 3)).asnumpy())
    [[1. 1. 1.]
     [2. 2. 2.]]
    """

    name = "broadcast_to"
    params: ClassVar[Params] = {
        "shape": Param("shape", (), "The shape to fill; 0 keeps an extent.", low=0)
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The attribute, with the extents of the input in place of its zeros."""
        (shape,), target = in_shapes, self.attrs["shape"]
        if shape is None:
            return [None], [tuple(n or -1 for n in target)], []
        if len(shape) != len(target):
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {shape}, expected the {len(target)} "
                f"dimensions of shape={target}"
            )
        out = tuple(n or m for n, m in zip(target, shape, strict=True))
        self.check_spread(shape, out)
        return [shape], [out], []


@register
class BroadcastAxis(Spread):
    """The input, repeated along axes of extent 1.

    Formula: ``out[i, j] = data[i, 0]``. Shapes: ``size`` gives the new extent of each of ``axis``,
    which have the extent 1. Types: all.
    Gradient: ``out_grad``, summed over the repeated axes.

    Examples
    --------
    >>> print(mx.nd.broadcast_axis(mx.nd.array([[1], [2]]), axis=1, size=3).asnumpy())
    [[1. 1. 1.]
     [2. 2. 2.]]
    """

    name = "broadcast_axis"
    aliases = ("broadcast_axes",)
    params: ClassVar[Params] = {
        "axis": Param("shape", (), "The axes to repeat."),
        "size": Param("shape", (), "The extents to which they grow.", low=0),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The input's shape, with other extents along the axes."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axes = normal_axes(self.name, self.attrs["axis"], len(shape))
        if len(axes) != len(self.attrs["size"]):
            raise InvalidArgumentError(
                f"{self.name}: axis={self.attrs['axis']} and size={self.attrs['size']} differ "
                "in length"
            )
        out = list(shape)
        for axis, size in zip(axes, self.attrs["size"], strict=True):
            out[axis] = size
        self.check_spread(shape, tuple(out))
        return [shape], [tuple(out)], []


@register
class BroadcastLike(Spread):
    """The first input, repeated along axes of extent 1 to the shape of the second.

    Formula: ``out[i, j] = lhs[i, 0]``. Shapes: ``out`` has the shape of ``rhs``. Types: all;
    ``rhs`` may have another one.
    Gradient: ``out_grad``, summed over the repeated axes; none for ``rhs``.

    Examples
    --------
    >>> a, b = mx.nd.array([[1], [2]]), mx.nd.zeros((2, 3))
    >>> print(mx.nd.broadcast_like(a, b).asnumpy())
    [[1. 1. 1.]
     [2. 2. 2.]]
    """

    name = "broadcast_like"
    arguments = ("lhs", "rhs")
    argument_dtypes: ClassVar[Claims] = {"rhs": ALL_TYPES}
    params: ClassVar[Params] = {
        "lhs_axes": Param("axis", None, "The axes of lhs to repeat; all.", optional=True),
        "rhs_axes": Param("axis", None, "The axes of rhs to follow; all.", optional=True),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the second input, or its extents along the axes."""
        lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return [lhs, rhs], [None], []
        out = rhs if self.attrs["lhs_axes"] is None else self._along_axes(lhs, rhs)
        self.check_spread(lhs, out)
        if len(lhs) == len(out):
            # An extent other than 1 can only stay what it is.
            out = tuple(n if m < 0 and n > 1 else m for n, m in zip(lhs, out, strict=True))
        return [lhs, rhs], [out], []

    def ignored_inputs(self) -> list[int]:
        """The second input gives its shape only."""
        return [1]

    def _along_axes(self, lhs: Shape, rhs: Shape) -> Shape:
        out = list(lhs)
        pairs = [self.attrs[a] for a in ("lhs_axes", "rhs_axes")]
        mine, theirs = ((a,) if isinstance(a, int) else a or () for a in pairs)
        if len(mine) != len(theirs):
            raise InvalidArgumentError(
                f"{self.name}: lhs_axes={pairs[0]} and rhs_axes={pairs[1]} differ in length"
            )
        for i, j in zip(mine, theirs, strict=True):
            source = rhs[normal_axis(self.name, j, len(rhs))]
            out[normal_axis(self.name, i, len(lhs))] = source
        return tuple(out)
