"""Elements and slices by indices of several axes, and the ways back."""

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
    Shape,
    merge_shapes,
    register,
)
from .choice import BackwardChoice, Choice
from .family import ALL_TYPES
from .param import Param, Params

__all__ = ["AddNd", "GatherNd", "ScatterNd", "ScatterSetNd"]


def check_indices(operator: str, indices: Shape, whole: Shape, what: str) -> None:
    """Raises where indices of such a shape cannot be those of a tensor of another."""
    if len(indices) < 2:
        raise InvalidArgumentError(
            f"{operator}: argument 'indices' has shape {indices}, expected at least 2 dimensions: "
            "a row of indices for each axis"
        )
    if indices[0] > len(whole):
        raise InvalidArgumentError(
            f"{operator}: argument 'indices' has shape {indices}, which is {indices[0]} rows of "
            f"indices, but {what} of shape {whole} has {len(whole)} axes"
        )


@register
class GatherNd(Choice):
    """Elements, or slices, by their indices along the leading axes.

    Formula: ``out[j] = data[indices[0, j], indices[1, j], ...]``, where ``j`` stands for all but
    the first axis of ``indices``. Fractions of indices are cut; negative ones count from the end;
    others outside of the axis raise IndexOutOfBoundsError. Shapes: ``out`` has that of ``indices``
    without the first axis, then the axes of ``data`` for which there are no indices. Types: all;
    ``indices`` of any.
    Gradient: ``data_grad`` is the sum of what was gathered from each place; none for ``indices``.

    Examples
    --------
    >>> data, indices = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[0, 1, 1], [1, 0, -1]])
    >>> print(mx.nd.gather_nd(data, indices).asnumpy())
    [2. 3. 4.]
    >>> print(mx.nd.gather_nd(data, mx.nd.array([[1]])).asnumpy())
    [[3. 4.]]
    """

    name = "gather_nd"
    back = "_backward_gather_nd_like"

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The indices' shape, and what they leave of the data."""
        data, indices = in_shapes
        if data is None or indices is None:
            return [data, indices], [None], []
        check_indices(self.name, indices, data, "'data'")
        if indices[0] < 0:
            return [data, indices], [None], []
        return [data, indices], [(*indices[1:], *data[indices[0] :])], []


@register
class BackwardGatherNd(BackwardChoice):
    """``out_grad`` of gather_nd, added up where it was gathered."""

    name = "_backward_gather_nd_like"
    forward = "gather_nd"


class Scatter(OperatorProperty):
    """The base of operators that put slices into zeros of a given shape."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "indices")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"indices": ALL_TYPES}
    params: ClassVar[Params] = {"shape": Param("shape", doc="The shape of the output.")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Slices and indices from each other, as far as only one shape is possible."""
        whole = self.attrs["shape"]
        if min(whole, default=0) < 0:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'shape' must have no negative extents, got {whole}"
            )
        return [*self.parts(in_shapes[0], in_shapes[1]), *in_shapes[2:]], [whole], []

    def parts(self, data: MaybeShape, indices: MaybeShape) -> tuple[MaybeShape, MaybeShape]:
        """The shapes of slices and their indices, from what is known of them.

        Raises
        ------
        InvalidArgumentError
            If they do not fit each other, or the whole.
        """
        whole = self.attrs["shape"]
        if indices is not None:
            check_indices(self.name, indices, whole, "the output")
            if indices[0] >= 0:
                slices = (*indices[1:], *whole[indices[0] :])
                data = merge_shapes(self.name, self.slices(), data, slices) or slices
                kept = len(indices) - 1
                return data, merge_shapes(self.name, "indices", indices, (-1, *data[:kept]))
        if data is None:
            return data, indices
        found = [s for depth in range(len(whole) + 1) for s in self._indices(data, indices, depth)]
        if not found:
            raise InvalidArgumentError(
                f"{self.name}: argument '{self.slices()}' of shape {data} does not fit into an "
                f"output of shape {whole}"
            )
        return data, found[0] if len(found) == 1 else indices

    def slices(self) -> str:
        """The argument that the slices are."""
        return "data"

    def _indices(self, data: Shape, given: MaybeShape, depth: int) -> list[Shape]:
        """The shape that indices of `depth` axes would have, if there can be such."""
        whole = self.attrs["shape"]
        rest = whole[depth:]
        kept = len(data) - len(rest)
        if kept < 1 or not _fits(data[kept:], rest):
            return []
        shape = (depth, *data[:kept])
        return [shape] if given is None or _fits(given, shape) else []

    def infer_type_backward(
        self, in_types: Sequence[str | None], out_types: Sequence[str | None]
    ) -> list[str | None]:
        """The slices have the type of the output."""
        return [in_types[0] or out_types[0], *in_types[1:]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What is in the places of the slices."""
        return [graph.op("gather_nd", graph.out_grad[0], graph.in_data[1])[0], None]


def _fits(a: Shape, b: Shape) -> bool:
    """Whether two partial shapes may be one."""
    return len(a) == len(b) and all(m == n or min(m, n) < 0 for m, n in zip(a, b, strict=True))


@register
class ScatterNd(Scatter):
    """Zeros with given elements, or slices, in some places.

    Formula: ``out = 0``, then ``out[indices[0, j], indices[1, j], ...] = data[j]``, where ``j``
    stands for all but the first axis of ``indices``; of several in one place the last one stays.
    Fractions of indices are cut; negative ones count from the end; others outside of the axis raise
    IndexOutOfBoundsError. Shapes: ``out`` has ``shape``; ``data`` has the shape of ``indices``
    without the first axis, then the axes of ``out`` for which there are no indices. Types: all;
    ``indices`` of any.
    Gradient: ``data_grad`` is ``out_grad`` in the places; none for ``indices``.

    Examples
    --------
    >>> data, indices = mx.nd.array([7, 8]), mx.nd.array([[0, 1], [1, 0]])
    >>> print(mx.nd.scatter_nd(data, indices, shape=(2, 2)).asnumpy())
    [[0. 7.]
     [8. 0.]]
    """

    name = "scatter_nd"


@register
class AddNd(Scatter):
    """Zeros with given elements, or slices, added up in some places.

    Formula: ``out = 0``, then ``out[indices[0, j], indices[1, j], ...] += data[j]``, where ``j``
    stands for all but the first axis of ``indices``. Indices are treated as by `scatter_nd`.
    Shapes: as of `scatter_nd`. Types: all; ``indices`` of any; halves are added in float32.
    Gradient: ``data_grad`` is ``out_grad`` in the places; none for ``indices``.

    Examples
    --------
    >>> data, indices = mx.nd.array([7, 8]), mx.nd.array([[1, 1]])
    >>> print(mx.nd._internal._backward_gather_nd(data, indices, shape=(3,)).asnumpy())
    [ 0. 15.  0.]
    """

    name = "_backward_gather_nd"


@register
class ScatterSetNd(Scatter):
    """A tensor with other elements, or slices, in some places.

    Formula: ``out = lhs``, then ``out[indices[0, j], indices[1, j], ...] = rhs[j]``, where ``j``
    stands for all but the first axis of ``indices``; of several in one place the last one stays.
    Indices are treated as by `scatter_nd`. With ``out=lhs`` the elements are assigned in place.
    Shapes: ``lhs`` and ``out`` have ``shape``; ``rhs`` has the shape of ``indices`` without the
    first axis, then the axes of ``lhs`` for which there are no indices. Types: all; ``indices`` of
    any.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> lhs, rhs, indices = mx.nd.ones((3,)), mx.nd.array([7, 8]), mx.nd.array([[2, 0]])
    >>> print(mx.nd._internal._scatter_set_nd(lhs, rhs, indices, shape=(3,)).asnumpy())
    [8. 1. 7.]
    """

    name = "_scatter_set_nd"
    arguments = ("lhs", "rhs", "indices")
    differentiable = False

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The first input is like the output."""
        (rhs, indices), outs, aux = super().infer_shape(in_shapes[1:])
        lhs = merge_shapes(self.name, "lhs", in_shapes[0], outs[0])
        return [lhs, rhs, indices], outs, aux

    def slices(self) -> str:
        """The argument that the slices are."""
        return "rhs"

    def inplace_options(self) -> list[tuple[int, int]]:
        """The tensor may be changed where it is."""
        return [(0, 0)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """None."""
        return [None] * len(self.arguments)
