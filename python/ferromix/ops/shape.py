"""Operators that rearrange elements: reshape, transpose, join and cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import (
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    merge_shapes,
    register,
)
from .family import ALL_TYPES, Backward
from .param import REQUIRED, Param, Params
from .reshape import legacy_target, reshape_target
from .shapes import count, is_known, normal_axes, normal_axis

__all__ = ["Concat", "ExpandDims", "Flatten", "Reshape", "SliceAxis", "Transpose"]


class Reshaping(OperatorProperty):
    """The base of operators that give the same elements in the same order another shape."""

    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    kernel: ClassVar[str | None] = "_reshape"

    def inplace_options(self) -> list[tuple[int, int]]:
        """The elements stay where they are."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output in the shape of the input."""
        return [graph.op("_reshape_like", graph.out_grad[0], graph.in_data[0])[0]]


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
        """The codes, applied to the shape of the input."""
        (shape,) = in_shapes
        return [shape], [self._target(shape)], []

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
class ReshapeLike(Reshaping):
    """``data`` in the shape of ``like``, which has as many elements; the gradient of reshaping."""

    name = "_reshape_like"
    hidden = True
    arguments = ("data", "like")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The output has the shape of ``like``."""
        return list(in_shapes), [in_shapes[1]], []

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """The output has the type of ``data``."""
        return list(in_types), [in_types[0]], []

    def ignored_inputs(self) -> list[int]:
        """``like`` gives its shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output in the shape of the input; none for ``like``."""
        return [*super().gradient(graph), None]


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
class Concat(OperatorProperty):
    """Tensors joined along an axis.

    Formula: ``out = [arg0 | arg1 | ...]``. Shapes: alike except along ``dim``, where the extents
    add up. Types: all, all alike.
    Gradient: ``out_grad``, cut into the parts.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 2]]), mx.nd.array([[3]])
    >>> print(mx.nd.Concat(a, b, dim=1).asnumpy())
    [[1. 2. 3.]]
    """

    name = "Concat"
    aliases = ("concat",)
    dtypes = ALL_TYPES
    variadic = "num_args"
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of inputs.", low=1),
        "dim": Param("int", 1, "The axis along which they are joined."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What the inputs have in common, and the sum along the axis."""
        known = [s for s in in_shapes if s is not None]
        if not known:
            return list(in_shapes), [None], []
        axis = normal_axis(self.name, self.attrs["dim"], len(known[0]))
        common: MaybeShape = None
        for name, shape in zip(self.list_arguments(), in_shapes, strict=True):
            free = None if shape is None else (*shape[:axis], -1, *shape[axis + 1 :])
            common = merge_shapes(self.name, name, free, common)
        assert common is not None
        parts = [-1 if s is None else s[axis] for s in in_shapes]
        filled = [(*common[:axis], n, *common[axis + 1 :]) for n in parts]
        total = -1 if min(parts) < 0 else sum(parts)
        return list(filled), [(*common[:axis], total, *common[axis + 1 :])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """What the output says of the other axes."""
        (out,) = out_shapes
        if out is None:
            return list(in_shapes)
        axis = normal_axis(self.name, self.attrs["dim"], len(out))
        free = (*out[:axis], -1, *out[axis + 1 :])
        names = self.list_arguments()
        return [merge_shapes(self.name, n, s, free) for n, s in zip(names, in_shapes, strict=True)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The parts of the gradient of the output."""
        return list(graph.op("_backward_Concat", *graph.out_grad, *graph.in_data, **self.attrs))


@register
class BackwardConcat(Backward):
    """``out_grad`` cut into parts of the shapes of the inputs of Concat."""

    name = "_backward_Concat"
    differentiable = True
    dtypes = ALL_TYPES
    variadic = "num_args"
    params: ClassVar[Params] = Concat.params

    def list_arguments(self) -> list[str]:
        """The gradient, and the inputs of Concat."""
        return ["out_grad", *super().list_arguments()]

    def list_outputs(self) -> list[str]:
        """One gradient for each input."""
        return [f"arg{i}_grad" for i in range(self.attrs["num_args"])]

    def ignored_inputs(self) -> list[int]:
        """The inputs give their shapes only."""
        return list(range(1, self.attrs["num_args"] + 1))

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradients of the parts, joined; none for what gives shapes."""
        joined = graph.op("Concat", *graph.out_grad, **self.attrs)[0]
        return [joined, *[None] * self.attrs["num_args"]]

    def _like(self, given: Sequence[Any]) -> list[Any]:
        return list(given[1:])


_SLICE = {
    "axis": Param("int", doc="The axis that is cut."),
    "begin": Param("int", doc="The first index; a negative one counts from the end."),
    "end": Param("int", REQUIRED, "The index after the last one; None for the end.", optional=True),
}


@register
class SliceAxis(OperatorProperty):
    """A range of indices of one axis.

    Formula: ``out = data[:, begin:end]`` for ``axis = 1``. Shapes: the extent of ``axis`` becomes
    ``end - begin``. Types: all.
    Gradient: ``out_grad`` in its place, and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.slice_axis(mx.nd.array([[1, 2, 3]]), axis=1, begin=1, end=None).asnumpy())
    [[2. 3.]]
    """

    name = "slice_axis"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = _SLICE

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape with the extent of the range along the axis."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        axis = normal_axis(self.name, self.attrs["axis"], len(shape))
        length = self._length(shape[axis])
        return [shape], [(*shape[:axis], length, *shape[axis + 1 :])], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output between zeros."""
        return [
            graph.op("_backward_slice_axis", graph.out_grad[0], graph.in_data[0], **self.attrs)[0]
        ]

    def _length(self, extent: int) -> int:
        if extent < 0:
            return -1
        begin, end = self.attrs["begin"], self.attrs["end"]
        first = begin + extent if begin < 0 else begin
        last = extent if end is None else end + extent if end < 0 else end
        if not 0 <= first <= last <= extent:
            raise InvalidArgumentError(
                f"{self.name}: begin={begin}, end={end} is no range of an axis of extent {extent}"
            )
        return last - first


@register
class BackwardSliceAxis(Backward):
    """``out_grad`` at the place of the range, in zeros of the shape of ``data``."""

    name = "_backward_slice_axis"
    differentiable = True
    dtypes = ALL_TYPES
    params: ClassVar[Params] = _SLICE

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The range of the gradient; none for the data."""
        return [graph.op("slice_axis", graph.out_grad[0], **self.attrs)[0], None]
