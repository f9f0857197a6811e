"""Diagonals and triangles of square matrices: taken out, put in, and weighed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import REALS
from .param import Param, Params

__all__ = ["SQUARE", "Square", "require_matrices", "side"]

_OFFSET = Param("int", 0, "How far above the main diagonal; below it where negative.")
_LOWER = Param("bool", True, "Whether it is the lower triangle; with offset 0 only.")
SQUARE = "square matrices in the last two dimensions"


def require_matrices(operator: str, argument: str, shape: Shape) -> None:
    """Checks that a shape has two dimensions or more."""
    if len(shape) < 2:
        raise InvalidArgumentError(
            f"{operator}: argument '{argument}' has shape {shape}, expected at least 2 dimensions"
        )


def side(operator: str, argument: str, shape: Shape) -> int:
    """The side of square matrices, or -1."""
    require_matrices(operator, argument, shape)
    rows, columns = shape[-2:]
    if rows >= 0 and columns >= 0 and rows != columns:
        raise InvalidArgumentError(
            f"{operator}: argument '{argument}' has shape {shape}, expected {SQUARE}"
        )
    return max(rows, columns)


class Square(OperatorProperty):
    """The base of operators that give a square matrix for each of ``A``."""

    arguments = ("A",)
    dtypes = REALS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Square matrices, and the same for the outputs."""
        shape = self._whole(in_shapes[0])
        return [shape], [shape] * len(self.output_names), []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The matrices have the shape of the first output."""
        return [self._whole(merge_shapes(self.name, "A", in_shapes[0], out_shapes[0]))]

    def _whole(self, shape: MaybeShape) -> MaybeShape:
        if shape is None:
            return None
        n = side(self.name, "A", shape)
        return (*shape[:-2], n, n)


class Part(OperatorProperty):
    """The base of operators that put a part of square matrices into vectors, or back."""

    arguments = ("A",)
    dtypes = REALS
    makes: ClassVar[bool]
    """Whether vectors become matrices."""
    back: ClassVar[str]
    """The operator that undoes it, which is the gradient."""

    def length(self, shape: Shape) -> int:
        """The length of the part of a matrix of that shape."""
        n, offset = side(self.name, "A", shape), abs(self.attrs["offset"])
        if 0 <= n <= offset and not n == offset == 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'A' has shape {shape}, in which there is no diagonal "
                f"offset={self.attrs['offset']}"
            )
        return -1 if n < 0 else self.elements(n - offset)

    def elements(self, n: int) -> int:
        """The length of the part whose diagonal has `n` elements."""
        return n

    def extent(self, length: int) -> int:
        """The length of the diagonal of a part of `length` elements."""
        return length

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Matrices from vectors, or vectors from matrices."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        if self.makes:
            return [shape], [self._matrix(shape)], []
        n, length = side(self.name, "A", shape), self.length(shape)
        return [(*shape[:-2], n, n)], [(*shape[:-2], length)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The same the other way."""
        (shape,), (out,) = in_shapes, out_shapes
        if out is None:
            return [shape]
        found = (*out[:-2], self.length(out)) if self.makes else self._matrix(out)
        return [merge_shapes(self.name, "A", shape, found)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The way back."""
        return [graph.op(self.back, graph.out_grad[0], **self.attrs)[0]]

    def _matrix(self, shape: Shape) -> Shape:
        if not shape:
            raise InvalidArgumentError(
                f"{self.name}: argument 'A' has shape (), expected at least one dimension"
            )
        n = -1 if shape[-1] < 0 else self.extent(shape[-1]) + abs(self.attrs["offset"])
        return (*shape[:-1], n, n)


class Triangle(Part):
    """The base for triangles."""

    params: ClassVar[Params] = {"offset": _OFFSET, "lower": _LOWER}

    def elements(self, n: int) -> int:
        """Rows of 1 to n elements."""
        return n * (n + 1) // 2

    def extent(self, length: int) -> int:
        """The number of rows."""
        n = (math.isqrt(8 * length + 1) - 1) // 2
        if self.elements(n) != length:
            raise InvalidArgumentError(
                f"{self.name}: argument 'A' has {length} elements along the last axis, which "
                f"fill no triangle; {self.elements(n)} and {self.elements(n + 1)} do"
            )
        return n


@register
class MakeDiag(Part):
    """Square matrices with vectors on a diagonal.

    Formula: ``out[..., i, i + offset] = A[..., i]``, or ``out[..., i - offset, i] = A[..., i]`` for
    a negative offset, and 0 elsewhere. Shapes: ``(..., n)`` gives ``(..., m, m)`` with
    ``m = n + abs(offset)``. Types: float32, float64. Gradient: the diagonal of ``out_grad``.

    Examples
    --------
    >>> print(mx.nd.linalg.makediag(mx.nd.array([1, 2])).asnumpy())
    [[1. 0.]
     [0. 2.]]
    """

    name = "_linalg_makediag"
    aliases = ("linalg_makediag",)
    makes = True
    back = "_linalg_extractdiag"
    params: ClassVar[Params] = {"offset": _OFFSET}


@register
class ExtractDiag(Part):
    """A diagonal of square matrices.

    Formula: ``out[..., i] = A[..., i, i + offset]``, or ``A[..., i - offset, i]`` for a negative
    offset. Shapes: ``(..., n, n)`` gives ``(..., n - abs(offset))``. Types: float32, float64.
    Gradient: ``out_grad`` on the diagonal and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.linalg.extractdiag(mx.nd.array([[1, 2], [3, 4]])).asnumpy())
    [1. 4.]
    """

    name = "_linalg_extractdiag"
    aliases = ("linalg_extractdiag",)
    makes = False
    back = "_linalg_makediag"
    params: ClassVar[Params] = {"offset": _OFFSET}


@register
class MakeTrian(Triangle):
    """Square matrices with vectors in a triangle.

    Formula: the rows of a lower triangle of ``out`` in turn, or the columns of an upper one, are
    ``A[...]``; 0 elsewhere. The triangle is what lies on and above the diagonal ``offset`` where
    that is positive, on and below it where it is negative; ``lower`` says which where it is 0.
    Shapes: ``(..., n (n + 1) / 2)`` gives ``(..., m, m)`` with ``m = n + abs(offset)``. Types:
    float32, float64.
    Gradient: the triangle of ``out_grad``.

    Examples
    --------
    >>> print(mx.nd.linalg.maketrian(mx.nd.array([1, 2, 3])).asnumpy())
    [[1. 0.]
     [2. 3.]]
    """

    name = "_linalg_maketrian"
    aliases = ("linalg_maketrian",)
    makes = True
    back = "_linalg_extracttrian"


@register
class ExtractTrian(Triangle):
    """A triangle of square matrices, as vectors.

    Formula: ``out[...]`` is the rows of a lower triangle of ``A`` in turn, or the columns of an
    upper one. The triangle is what lies on and above the diagonal ``offset`` where that is
    positive, on and below it where it is negative; ``lower`` says which where it is 0. Shapes:
    ``(..., n, n)`` gives ``(..., m (m + 1) / 2)`` with ``m = n - abs(offset)``. Types: float32,
    float64.
    Gradient: ``out_grad`` in the triangle and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.linalg.extracttrian(mx.nd.array([[1, 2], [3, 4]])).asnumpy())
    [1. 3. 4.]
    """

    name = "_linalg_extracttrian"
    aliases = ("linalg_extracttrian",)
    makes = False
    back = "_linalg_maketrian"


@register
class Triangles(Square):
    """Triangles of square matrices and of their transposes, each with a weight."""

    name = "_linalg_triangles"
    hidden = True
    params: ClassVar[Params] = {
        "weights": Param(
            "floats",
            doc="Of what is below, on and above the diagonal; of the transpose, below and above.",
        )
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same, with what came from above sent back there."""
        lower, diagonal, upper, from_upper, from_lower = self.attrs["weights"]
        weights = (lower, diagonal, upper, from_lower, from_upper)
        return [graph.op(self.name, graph.out_grad[0], weights=weights)[0]]
