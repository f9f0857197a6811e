"""Products of the matrices of batches, and systems of equations with triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .composed import Composed
from .family import REALS
from .linalg_triangles import require_matrices, side
from .param import Param, Params
from .term import Term

__all__ = ["LOWER", "UPPER", "transposed"]

LOWER = (1.0, 1.0, 0.0, 0.0, 0.0)
"""The weights of ``_linalg_triangles`` that leave the lower triangle."""
UPPER = (0.0, 1.0, 1.0, 0.0, 0.0)
_SUM = (1.0, 2.0, 1.0, 1.0, 1.0)
_TRANSPOSE = (0.0, 1.0, 0.0, 1.0, 1.0)
_ALPHA = Param("float", 1.0, "A factor of the product.")


def transposed(x: Term) -> Term:
    """Square matrices, transposed."""
    return x.op("_linalg_triangles", weights=_TRANSPOSE)


@register
class Gemm2(OperatorProperty):
    """The products of corresponding matrices of two batches.

    Formula: ``out = alpha * A B``, with ``A`` or ``B`` transposed first where ``transpose_a`` or
    ``transpose_b`` says so. Shapes: ``(..., m, k)`` and ``(..., k, n)`` give ``(..., m, n)``; the
    other extents are the same. With ``axis`` the rows run along that axis instead of the last but
    one. Types: float32, float64.
    Gradient: ``A_grad = alpha * out_grad B^T``, ``B_grad = alpha * A^T out_grad``.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 2]]), mx.nd.array([[3, 4]])
    >>> print(mx.nd.linalg.gemm2(a, b, transpose_b=True, alpha=2).asnumpy())
    [[22.]]
    """

    name = "_linalg_gemm2"
    aliases = ("linalg_gemm2",)
    arguments = ("A", "B")
    dtypes = REALS
    params: ClassVar[Params] = {
        "transpose_a": Param("bool", False, "Whether the matrices of A are transposed."),
        "transpose_b": Param("bool", False, "Whether the matrices of B are transposed."),
        "alpha": _ALPHA,
        "axis": Param("int", -2, "The axis of the rows."),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The rows of one by the columns of the other."""
        a, b, out = self._fit([*in_shapes, None])
        return [a, b], [out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Rows and columns that the inputs have, too."""
        return self._fit([*in_shapes, out_shapes[0]])[:2]

    def _fit(self, shapes: Sequence[MaybeShape]) -> list[MaybeShape]:
        """What follows for ``A``, ``B`` and the output from all that is known of them."""
        first, second = self.attrs["transpose_a"], self.attrs["transpose_b"]
        axes = ["km" if first else "mk", "nk" if second else "kn", "mn"]
        found: dict[str, int] = {}
        front: MaybeShape = None
        row = 0
        for name, shape, pair in zip(("A", "B", "output"), shapes, axes, strict=True):
            if shape is None:
                continue
            row = self._row(name, shape)
            others = _others(shape, row)
            try:
                front = merge_shapes(self.name, name, others, front)
                for axis, n in zip(pair, (shape[row], shape[-1]), strict=True):
                    known = merge_shapes(self.name, name, (n,), (found.get(axis, -1),))
                    found[axis] = max(known or (-1,))
            except InvalidArgumentError:
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' of shape {shape} does not go with the others "
                    f"of shapes {tuple(s for s in shapes if s is not None)}: the matrices must "
                    "fit, and all other extents be equal"
                ) from None
        if front is None:
            return list(shapes)
        m, n = ([found.get(axis, -1) for axis in pair] for pair in zip(*axes, strict=True))
        return [(*front[:row], x, *front[row:], y) for x, y in zip(m, n, strict=True)]

    def _row(self, argument: str, shape: Shape) -> int:
        require_matrices(self.name, argument, shape)
        axis = self.attrs["axis"]
        row = axis + len(shape) if axis < 0 else axis
        if not 0 <= row < len(shape) - 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'axis' is {axis}, which is no axis of rows of argument "
                f"'{argument}' of shape {shape}"
            )
        return row

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products with the other input, transposed as its place in the product asks for."""
        first, second = self.attrs["transpose_a"], self.attrs["transpose_b"]
        g, (a, b) = graph.out_grad[0], graph.in_data
        rest = {k: self.attrs[k] for k in ("alpha", "axis")}

        def product(x: Entry, y: Entry, flip_x: bool, flip_y: bool) -> Entry:
            return graph.op(self.name, x, y, transpose_a=flip_x, transpose_b=flip_y, **rest)[0]

        da = product(b, g, second, True) if first else product(g, b, False, not second)
        db = product(g, a, True, first) if second else product(a, g, not first, False)
        return [da, db]


def _others(shape: Shape, row: int) -> Shape:
    return shape[:row] + shape[row + 1 : -1]


@register
class Gemm(Composed):
    """The products of corresponding matrices of two batches, added to those of a third.

    Formula: ``out = alpha * A B + beta * C``, with ``A`` or ``B`` transposed first where
    ``transpose_a`` or ``transpose_b`` says so. Shapes: ``(..., m, k)`` and ``(..., k, n)`` give
    ``(..., m, n)``, as which ``C`` is; the other extents are the same. With ``axis`` the rows run
    along that axis instead of the last but one. Types: float32, float64.
    Gradient: ``A_grad = alpha * out_grad B^T``, ``B_grad = alpha * A^T out_grad``,
    ``C_grad = beta * out_grad``.

    Examples
    --------
    >>> a, b, c = mx.nd.array([[1, 2]]), mx.nd.array([[3], [4]]), mx.nd.array([[5]])
    >>> print(mx.nd.linalg.gemm(a, b, c, alpha=2, beta=10).asnumpy())
    [[72.]]
    """

    name = "_linalg_gemm"
    aliases = ("linalg_gemm",)
    arguments = ("A", "B", "C")
    operands = "elemwise"
    dtypes = REALS
    params: ClassVar[Params] = {
        "transpose_a": Gemm2.params["transpose_a"],
        "transpose_b": Gemm2.params["transpose_b"],
        "alpha": _ALPHA,
        "beta": Param("float", 1.0, "A factor of C."),
        "axis": Gemm2.params["axis"],
    }

    def forward(self, a: Term, b: Term, c: Term) -> Term:
        """The product and the sum; with a factor 0 the values of ``C`` do not matter."""
        attrs = {k: self.attrs[k] for k in Gemm2.params}
        product, beta = a.op("_linalg_gemm2", b, **attrs), self.attrs["beta"]
        return product + (c.op("zeros_like") if beta == 0 else c if beta == 1 else c * beta)


@register
class Syrk(OperatorProperty):
    """The products of matrices with their transposes.

    Formula: ``out = alpha * A A^T``, or ``alpha * A^T A`` with ``transpose``. Shapes:
    ``(..., m, n)`` gives ``(..., m, m)``, or ``(..., n, n)``. Types: float32, float64.
    Gradient: ``A_grad = alpha * (out_grad + out_grad^T) A``, or the factors exchanged.

    Examples
    --------
    >>> print(mx.nd.linalg.syrk(mx.nd.array([[1, 2], [3, 4]])).asnumpy())
    [[ 5. 11.]
     [11. 25.]]
    """

    name = "_linalg_syrk"
    aliases = ("linalg_syrk",)
    arguments = ("A",)
    dtypes = REALS
    params: ClassVar[Params] = {
        "transpose": Param("bool", False, "Whether the first factor is the transposed one."),
        "alpha": _ALPHA,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Squares of the rows, or of the columns."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        require_matrices(self.name, "A", shape)
        n = shape[-1 if self.attrs["transpose"] else -2]
        return [shape], [(*shape[:-2], n, n)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The rows, or the columns."""
        (shape,), (out,) = in_shapes, out_shapes
        if out is None:
            return [shape]
        n = side(self.name, "output", out)
        found = (*out[:-2], -1, n) if self.attrs["transpose"] else (*out[:-2], n, -1)
        return [merge_shapes(self.name, "A", shape, found)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A product with the sum of ``out_grad`` and its transpose."""
        both = graph.op("_linalg_triangles", graph.out_grad[0], weights=_SUM)[0]
        pair = (graph.in_data[0], both)
        pair = pair if self.attrs["transpose"] else pair[::-1]
        return [graph.op("_linalg_gemm2", *pair, alpha=self.attrs["alpha"])[0]]


class Sided(OperatorProperty):
    """The base of operators of a triangle ``A`` and of matrices ``B`` on one side of it."""

    arguments = ("A", "B")
    dtypes = REALS
    params: ClassVar[Params] = {
        "transpose": Param("bool", False, "Whether the triangles are transposed."),
        "rightside": Param("bool", False, "Whether the triangles are on the right side."),
        "lower": Param("bool", True, "Whether A has lower triangles; what is above is not read."),
        "alpha": _ALPHA,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Squares on one side of ``B``; the output is like ``B``."""
        a, b = in_shapes
        place = -1 if self.attrs["rightside"] else -2
        if a is not None:
            n = side(self.name, "A", a)
            a = (*a[:-2], n, n)
        if b is not None:
            require_matrices(self.name, "B", b)
            a = merge_shapes(self.name, "A", a, (*b[:-2], b[place], b[place]))
        if a is not None:
            known = [*a[:-2], -1, -1]
            known[place] = a[-1]
            b = merge_shapes(self.name, "B", b, tuple(known))
        return [a, b], [b], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """``B`` is like the output."""
        a, b = in_shapes
        return [a, merge_shapes(self.name, "B", b, out_shapes[0])]

    def other_way(self, graph: GradientGraph, alpha: float) -> Entry:
        """The operator on ``out_grad``, with the triangles transposed."""
        attrs = {**self.attrs, "transpose": not self.attrs["transpose"], "alpha": alpha}
        return graph.op(self.name, graph.in_data[0], graph.out_grad[0], **attrs)[0]

    def triangle(self, graph: GradientGraph, left: Entry, right: Entry, alpha: float) -> Entry:
        """What ``A`` has of ``alpha * left right^T``, or ``left^T right`` on the right side."""
        if self.attrs["transpose"]:
            left, right = right, left
        on_right = self.attrs["rightside"]
        flips = {"transpose_a": on_right, "transpose_b": not on_right}
        product = graph.op("_linalg_gemm2", left, right, alpha=alpha, **flips)[0]
        weights = LOWER if self.attrs["lower"] else UPPER
        return graph.op("_linalg_triangles", product, weights=weights)[0]


@register
class Trmm(Sided):
    """The products of triangles with matrices.

    Formula: ``out = alpha * A B``, or ``alpha * B A`` with ``rightside``, with ``A`` transposed
    first where ``transpose`` says so. ``A`` is the lower triangle of what is given, or the upper
    one. Shapes: ``A`` is ``(..., n, n)``, ``B`` ``(..., n, m)``, or ``(..., m, n)`` with
    ``rightside``; ``out`` is like ``B``. Types: float32, float64.
    Gradient: ``B_grad = alpha * A^T out_grad``; ``A_grad`` is the triangle of
    ``alpha * out_grad B^T``; accordingly where sides or ``A`` are exchanged.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 9], [2, 3]]), mx.nd.array([[1], [2]])
    >>> print(mx.nd.linalg.trmm(a, b).asnumpy().reshape(-1))
    [1. 8.]
    """

    name = "_linalg_trmm"
    aliases = ("linalg_trmm",)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The product with the transpose, and the triangle of a product."""
        g, b, alpha = graph.out_grad[0], graph.in_data[1], self.attrs["alpha"]
        pair = (b, g) if self.attrs["rightside"] else (g, b)
        return [self.triangle(graph, *pair, alpha), self.other_way(graph, alpha)]


@register
class Trsm(Sided):
    """The solutions of systems of equations with triangles.

    Formula: ``A out = alpha * B``, or ``out A = alpha * B`` with ``rightside``, with ``A``
    transposed first where ``transpose`` says so. ``A`` is the lower triangle of what is given, or
    the upper one; a zero on its diagonal gives infinities and NaN. Shapes: ``A`` is
    ``(..., n, n)``, ``B`` ``(..., n, m)``, or ``(..., m, n)`` with ``rightside``; ``out`` is like
    ``B``. Types: float32, float64.
    Gradient: ``B_grad`` solves ``A^T B_grad = alpha * out_grad``; ``A_grad`` is the triangle of
    ``-B_grad out^T / alpha``; accordingly where sides or ``A`` are exchanged.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 9], [2, 3]]), mx.nd.array([[1], [8]])
    >>> print(mx.nd.linalg.trsm(a, b).asnumpy().reshape(-1))
    [1. 2.]
    """

    name = "_linalg_trsm"
    aliases = ("linalg_trsm",)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The solution with the transpose, and the triangle of its product with the output."""
        solved, out = self.other_way(graph, 1.0), graph.out_data[0]
        pair = (out, solved) if self.attrs["rightside"] else (solved, out)
        scaled = graph.op("_mul_scalar", solved, scalar=self.attrs["alpha"])[0]
        return [self.triangle(graph, *pair, -1.0), scaled]
