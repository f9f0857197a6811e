"""Operators that give the same elements another shape, and those that tell the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import (
    Claims,
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    merge_shapes,
    register,
)
from .family import ALL_TYPES, Types
from .param import Param, Params
from .reshape import legacy_target, reshape_target
from .shapes import count, is_known, normal_axes, normal_axis

__all__ = [
    "ExpandDims",
    "Flatten",
    "Reshape",
    "ReshapeLike",
    "Reshaping",
    "ShapeArray",
    "SizeArray",
    "Squeeze",
]


class Reshaping(OperatorProperty):
    """The base of operators that give the same elements in the same order another shape."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    kernel: ClassVar[str | None] = "_reshape"

    def inplace_options(self) -> list[tuple[int, int]]:
        """The elements stay where they are."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output in the shape of the input."""
        return [graph.op("reshape_like", graph.out_grad[0], graph.in_data[0])[0]]


@register
class Reshape(Reshaping):
    """The same elements in another shape.

    Formula: ``out.flat[i] = data.flat[i]``. Shapes: each number of ``shape`` is an extent, or a
    code: 0 copies the next extent of the input; -1 is what makes the number of elements fit (once
    at most); -2 copies all remaining extents; -3 is the product of the next two; -4 splits the next
    one into the two numbers that follow, one of which may be -1. With ``reverse`` the codes are
    read from the right. Types: all.
    Gradient: ``out_grad`` in the shape of ``data``.

    Examples
    --------
    >>> mx.nd.Reshape(mx.nd.zeros((2, 3, 4)), shape=(-3, 0)).shape
    (6, 4)
    >>> mx.nd.Reshape(mx.nd.zeros((2, 3, 4)), shape=(-4, 1, 2, -2)).shape
    (1, 2, 3, 4)
    """

    name = "Reshape"
    aliases = ("reshape",)
    params: ClassVar[Params] = {
        "shape": Param("shape", (), "The new shape, with codes.", low=-4),
        "reverse": Param("bool", False, "Whether the codes are read from the right."),
        "target_shape": Param("shape", (), "Older spelling: one 0 is what fits.", low=0),
        "keep_highest": Param("bool", False, "Older spelling: keep the first extent."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The codes, applied to the shape of the input, which may follow from them."""
        (shape,) = in_shapes
        target = self._target(shape)
        return self.infer_shape_backward([shape], [target]), [target], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The one unknown extent of the input is what makes the number of elements fit."""
        (shape,), (out,) = in_shapes, out_shapes
        if shape is None or out is None or not is_known(out) or shape.count(-1) != 1:
            return [shape]
        rest = count([n for n in shape if n >= 0])
        if rest == 0 or count(out) % rest:
            return [shape]
        return [tuple(count(out) // rest if n < 0 else n for n in shape)]

    def _target(self, shape: MaybeShape) -> MaybeShape:
        codes, legacy = self.attrs["shape"], self.attrs["target_shape"]
        if legacy and not codes:
            return legacy_target(self.name, shape, legacy, self.attrs["keep_highest"])
        if not codes and "shape" not in self.given:
            raise InvalidArgumentError(f"{self.name}: attribute 'shape' is required")
        return reshape_target(self.name, shape, codes, self.attrs["reverse"])


@register
class Flatten(Reshaping):
    """The same elements as a matrix with one row for each sample.

    Formula: ``out[i, j] = data[i].flat[j]``. Shapes: ``(n, a, b, ...)`` becomes
    ``(n, a * b * ...)``. Types: all.
    Gradient: ``out_grad`` in the shape of ``data``.

    Examples
    --------
    >>> mx.nd.Flatten(mx.nd.zeros((2, 3, 4))).shape
    (2, 12)
    """

    name = "Flatten"
    aliases = ("flatten",)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The first extent, and the product of the others."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        if not shape:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape (), expected at least one dimension"
            )
        return [shape], [(shape[0], count(shape[1:]))], []


@register
class ExpandDims(Reshaping):
    """The same elements with one more dimension, of extent 1.

    Formula: ``out[i, 0, j] = data[i, j]`` for ``axis = 1``. Shapes: ``axis`` says where the new
    dimension is, counted in the output; a negative one counts from the end. Types: all.
    Gradient: ``out_grad`` in the shape of ``data``.

    Examples
    --------
    >>> mx.nd.expand_dims(mx.nd.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """

    name = "expand_dims"
    params: ClassVar[Params] = {"axis": Param("int", doc="Where the new dimension is.")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The input's shape with a 1 put in."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axis = normal_axis(self.name, self.attrs["axis"], len(shape) + 1)
        return [shape], [(*shape[:axis], 1, *shape[axis:])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The output's shape without the 1."""
        (out,) = out_shapes
        if out is None or not out:
            return list(in_shapes)
        axis = normal_axis(self.name, self.attrs["axis"], len(out))
        return [merge_shapes(self.name, "data", in_shapes[0], out[:axis] + out[axis + 1 :])]


@register
class Squeeze(Reshaping):
    """The same elements without dimensions of extent 1.

    Formula: ``out[i, j] = data[i, 0, j]`` for ``axis = 1``. Shapes: without ``axis`` all dimensions
    of extent 1 vanish, otherwise those of ``axis``, which must have that extent; ``(1,)`` where
    nothing is left. Types: all.
    Gradient: ``out_grad`` in the shape of ``data``.

    Examples
    --------
    >>> mx.nd.squeeze(mx.nd.zeros((2, 1, 3, 1))).shape
    (2, 3)
    >>> mx.nd.squeeze(mx.nd.zeros((2, 1, 3, 1)), axis=1).shape
    (2, 3, 1)
    """

    name = "squeeze"
    params: ClassVar[Params] = {
        "axis": Param("axis", None, "What vanishes; all of extent 1 where None.", optional=True)
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The input's shape without some extents of 1."""
        (shape,), axis = in_shapes, self.attrs["axis"]
        if shape is None or (axis is None and not is_known(shape)):
            return [shape], [None], []
        if axis is None:
            return [shape], [tuple(n for n in shape if n != 1) or (1,)], []
        axes = normal_axes(self.name, (axis,) if isinstance(axis, int) else axis, len(shape))
        wide = [a for a in axes if shape[a] not in (1, -1)]
        if wide:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {shape} has the extent {shape[wide[0]]} "
                f"along axis {wide[0]}; only axes of extent 1 can vanish"
            )
        filled = tuple(1 if a in axes else n for a, n in enumerate(shape))
        return [filled], [tuple(n for a, n in enumerate(shape) if a not in axes) or (1,)], []


@register
class ReshapeLike(Reshaping):
    """The first input in the shape of the second, or with some of its extents.

    Formula: ``out.flat[i] = lhs.flat[i]``. Shapes: the dimensions of ``lhs`` from ``lhs_begin`` to
    before ``lhs_end`` become those of ``rhs`` from ``rhs_begin`` to before ``rhs_end``; all of them
    by default. Types: all; ``rhs`` may have another one.
    Gradient: ``out_grad`` in the shape of ``lhs``; none for ``rhs``.

    Examples
    --------
    >>> mx.nd.reshape_like(mx.nd.zeros((6, 4)), mx.nd.zeros((2, 3, 4))).shape
    (2, 3, 4)
    >>> a, b = mx.nd.zeros((6, 5)), mx.nd.zeros((2, 3, 4))
    >>> mx.nd.reshape_like(a, b, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2).shape
    (2, 3, 5)
    """

    name = "reshape_like"
    argument_dtypes: ClassVar[Claims] = {"rhs": ALL_TYPES}
    arguments = ("lhs", "rhs")
    params: ClassVar[Params] = {
        f"{side}_{end}": Param("int", None, f"Where the dimensions of {side} {end}.", optional=True)
        for side in ("lhs", "rhs")
        for end in ("begin", "end")
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Extents of the second input in the place of those of the first."""
        lhs, rhs = in_shapes
        if all(v is None for v in self.attrs.values()):
            out = rhs
        elif lhs is None or rhs is None:
            out = None
        else:
            a, b = self._range("lhs", len(lhs))
            c, d = self._range("rhs", len(rhs))
            out = (*lhs[:a], *rhs[c:d], *lhs[b:])
        if is_known(lhs) and is_known(out) and count(lhs or ()) != count(out or ()):
            raise InvalidArgumentError(
                f"{self.name}: argument 'lhs' of shape {lhs} has {count(lhs or ())} elements and "
                f"cannot take the shape {out} after 'rhs' of shape {rhs}"
            )
        return [lhs, rhs], [out], []

    def ignored_inputs(self) -> list[int]:
        """The second input gives its shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output in the shape of the first input."""
        return [*super().gradient(graph), None]

    def _range(self, side: str, rank: int) -> tuple[int, int]:
        begin, end = self.attrs[f"{side}_begin"], self.attrs[f"{side}_end"]
        first, last = 0 if begin is None else begin, rank if end is None else end
        first, last = (n + rank if n < 0 else n for n in (first, last))
        if not 0 <= first <= last <= rank:
            raise InvalidArgumentError(
                f"{self.name}: {side}_begin={begin}, {side}_end={end} is no range of the {rank} "
                f"dimensions of '{side}'"
            )
        return first, last


class Telling(OperatorProperty):
    """The base of operators that read the shape of their input only."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    differentiable: ClassVar[bool] = False

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Extents are 64-bit integers."""
        return list(in_types), ["int64"], []

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape only."""
        return [0]


@register
class ShapeArray(Telling):
    """The shape of a tensor as a vector.

    Formula: ``out[i] = extent of dimension i``. Shapes: as many elements as ``data`` has
    dimensions. Types: all; the output is int64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.shape_array(mx.nd.zeros((2, 3))).asnumpy())
    [2 3]
    """

    name = "shape_array"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One number for each dimension."""
        (shape,) = in_shapes
        return [shape], [(-1 if shape is None else len(shape),)], []


@register
class SizeArray(Telling):
    """The number of elements of a tensor, as a vector of one.

    Formula: ``out[0] = product of the extents``. Shapes: ``(1,)``. Types: all; the output is int64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.size_array(mx.nd.zeros((2, 3))).asnumpy())
    [6]
    """

    name = "size_array"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One number."""
        return list(in_shapes), [(1,)], []
