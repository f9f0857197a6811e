"""Factors, inverses, determinants and eigenvectors of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .composed import Composed
from .family import REALS
from .linalg_products import LOWER, UPPER, transposed
from .linalg_triangles import Square, require_matrices, side
from .param import Param, Params
from .term import Term

__all__ = ["Inverse"]

_MIRROR = (1.0, 1.0, 0.0, 0.0, 1.0)
"""The weights of ``_linalg_triangles`` for the lower triangle and its mirror image."""
_MEAN = (0.5, 1.0, 0.5, 0.5, 0.5)
_HALVED = {True: (1.0, 0.5, 0.0, 0.0, 0.0), False: (0.0, 0.5, 1.0, 0.0, 0.0)}
_LEAST_GAP = 1e-30
_FACTOR = Param("bool", True, "Whether the factor is a lower triangle.")


def _gemm(x: Term, y: Term, alpha: float = 1.0, flip: tuple[bool, bool] = (False, False)) -> Term:
    return x.op("_linalg_gemm2", y, transpose_a=flip[0], transpose_b=flip[1], alpha=alpha)


def _weigh(x: Term, weights: tuple[float, ...]) -> Term:
    return x.op("_linalg_triangles", weights=weights)


@register
class Potrf(Square):
    """The Cholesky factors of symmetric positive definite matrices.

    Formula: ``A = out out^T`` for a lower triangle ``out`` with a positive diagonal, or
    ``A = out^T out`` for an upper one where ``lower`` is false. That triangle of ``A`` is read; a
    matrix that is not positive definite is an error. Shapes: ``(..., n, n)`` for both. Types:
    float32, float64. Gradient: symmetric, ``(P + P^T) / 2`` with ``P = out^-T F out^-1``, where
    ``F`` is the lower triangle of ``out^T out_grad`` with its diagonal halved.

    Examples
    --------
    >>> print(mx.nd.linalg.potrf(mx.nd.array([[4, 2], [2, 10]])).asnumpy())
    [[2. 0.]
     [1. 3.]]
    """

    name = "_linalg_potrf"
    aliases = ("linalg_potrf",)
    params: ClassVar[Params] = {"lower": _FACTOR}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Two systems of equations with the factor."""
        lower = self.attrs["lower"]
        g, out = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
        flips = (True, False), (False, True)
        inner = _gemm(out, g, 1.0, flips[0]) if lower else _gemm(g, out, 1.0, flips[1])
        inner = _weigh(inner, _HALVED[lower])
        # With the upper triangle U, in which A = U^T U, it is U^-1 F U^-T.
        inner = out.op("_linalg_trsm", inner, transpose=lower, lower=lower)
        inner = out.op("_linalg_trsm", inner, transpose=not lower, rightside=True, lower=lower)
        return [_weigh(inner, _MEAN).entry]


@register
class Potri(Square):
    """The inverses of the matrices that have the given Cholesky factors.

    Formula: ``out = (A A^T)^-1`` for the lower triangle of ``A``, or ``(A^T A)^-1`` for the upper
    one where ``lower`` is false. A zero on the diagonal is an error. Shapes: ``(..., n, n)`` for
    both. Types: float32, float64. Gradient: the triangle of
    ``-out (out_grad + out_grad^T) A^-T``, or of ``-A^-T (out_grad + out_grad^T) out``.

    Examples
    --------
    >>> print(mx.nd.linalg.potri(mx.nd.array([[2, 0], [0, 4]])).asnumpy())
    [[0.25   0.    ]
     [0.     0.0625]]
    """

    name = "_linalg_potri"
    aliases = ("linalg_potri",)
    params: ClassVar[Params] = {"lower": _FACTOR}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A product and a system of equations with the factor."""
        lower = self.attrs["lower"]
        g, a, out = (Term(graph, e[0]) for e in (graph.out_grad, graph.in_data, graph.out_data))
        both = _weigh(g, _MEAN)
        product = _gemm(out, both) if lower else _gemm(both, out)
        attrs = {"transpose": True, "rightside": lower, "lower": lower, "alpha": -2.0}
        found = a.op("_linalg_trsm", product, **attrs)
        return [_weigh(found, LOWER if lower else UPPER).entry]


class Several(OperatorProperty):
    """The base of operators with two outputs: matrices like ``A``, and something smaller."""

    arguments = ("A",)
    dtypes = REALS

    def list_outputs(self) -> list[str]:
        """MXNet's names."""
        return ["output0", "output1"]

    def smaller(self, shape: Shape) -> Shape:
        """The shape of the second output."""
        raise NotImplementedError

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Matrices, and what is smaller."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None, None], []
        require_matrices(self.name, "A", shape)
        shape = self.checked(shape)
        return [shape], [shape, self.smaller(shape)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """``A`` is like the first output; the second one has its rows."""
        found = merge_shapes(self.name, "A", in_shapes[0], out_shapes[0])
        if out_shapes[1] is not None:
            found = merge_shapes(self.name, "A", found, self.larger(out_shapes[1]))
        return [found if found is None else self.checked(found)]

    def checked(self, shape: Shape) -> Shape:
        """The shape, if it is one for ``A``, with what follows for it."""
        raise NotImplementedError

    def larger(self, shape: Shape) -> Shape:
        """What the shape of the second output says of ``A``."""
        raise NotImplementedError


@register
class Gelqf(Several):
    """The LQ factors of matrices that have no more rows than columns.

    Formula: ``A = L Q`` with a lower triangle ``L`` and ``Q Q^T = I``; the outputs are ``Q`` and
    ``L``, with LAPACK's signs. Shapes: ``A`` and ``Q`` are ``(..., m, n)`` with ``m <= n``, and
    ``L`` is ``(..., m, m)``. Types: float32, float64.
    Gradient: ``A_grad = L^-T (Q_grad + S Q)``, where ``S`` is the lower triangle of
    ``L^T L_grad - Q_grad Q^T`` and its mirror image; for matrices of full rank.

    Examples
    --------
    >>> q, l = mx.nd.linalg.gelqf(mx.nd.array([[3, 4]]))
    >>> print(q.asnumpy().round(4), l.asnumpy().round(4))
    [[-0.6 -0.8]] [[-5.]]
    """

    name = "_linalg_gelqf"
    aliases = ("linalg_gelqf",)

    def checked(self, shape: Shape) -> Shape:
        """Wide matrices."""
        require_matrices(self.name, "A", shape)
        if 0 <= shape[-1] < shape[-2]:
            raise InvalidArgumentError(
                f"{self.name}: argument 'A' has shape {shape}, expected no more rows than columns"
            )
        return shape

    def smaller(self, shape: Shape) -> Shape:
        """Squares of the rows."""
        return (*shape[:-1], shape[-2])

    def larger(self, shape: Shape) -> Shape:
        """The rows."""
        return (*shape[:-2], side(self.name, "output1", shape), -1)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """A system of equations with the triangle."""
        (dq, dl), (q, low) = (
            [Term(graph, e) for e in entries[:2]] for entries in (graph.out_grad, graph.out_data)
        )
        inner = _gemm(low, dl, 1.0, (True, False)) - _gemm(dq, q, 1.0, (False, True))
        right = dq + _gemm(_weigh(inner, _MIRROR), q)
        return [low.op("_linalg_trsm", right, transpose=True).entry]


@register
class Syevd(Several):
    """The eigenvectors and eigenvalues of symmetric matrices.

    Formula: ``A = U^T diag(L) U`` with ``U U^T = I``: the rows of ``U`` are eigenvectors, of which
    the largest component is positive, ``L`` the eigenvalues in ascending order; the outputs are
    ``U`` and ``L``. The lower triangle of ``A`` is read; what is not finite gives NaN. Shapes:
    ``A`` and ``U`` are ``(..., n, n)``, ``L`` is ``(..., n)``. Types: float32, float64.
    Gradient: ``A_grad = U^T (S + diag(L_grad)) U``, where ``S`` is the symmetric part of
    ``(U_grad U^T)[i, j] / (L[i] - L[j])``; for eigenvalues that differ.

    Examples
    --------
    >>> u, l = mx.nd.linalg.syevd(mx.nd.array([[3, 0], [0, 2]]))
    >>> print(u.asnumpy(), l.asnumpy())
    [[0. 1.]
     [1. 0.]] [2. 3.]
    """

    name = "_linalg_syevd"
    aliases = ("linalg_syevd",)

    def checked(self, shape: Shape) -> Shape:
        """Square matrices."""
        n = side(self.name, "A", shape)
        return (*shape[:-2], n, n)

    def smaller(self, shape: Shape) -> Shape:
        """A number for each row."""
        return shape[:-1]

    def larger(self, shape: Shape) -> Shape:
        """The rows."""
        return (*shape, shape[-1])

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products with the eigenvectors."""
        (du, dl), (u, own) = (
            [Term(graph, e) for e in entries[:2]] for entries in (graph.out_grad, graph.out_data)
        )
        # Below the diagonal no gap is negative.
        column = Term(graph, own.entry, "broadcast").op("expand_dims", axis=-1)
        gaps = (column - own.op("expand_dims", axis=-2)).op("_maximum_scalar", scalar=_LEAST_GAP)
        turned = _gemm(du, u, 1.0, (False, True))
        odd = _weigh(turned, (0.5, 0.0, 0.0, -0.5, 0.0))
        below = odd / Term(graph, gaps.entry)
        inner = _weigh(below, (1.0, 0.0, 0.0, 0.0, 1.0)) + dl.op("_linalg_makediag")
        return [_gemm(_gemm(u, inner, 1.0, (True, False)), u).entry]


@register
class Inverse(Square):
    """The inverses of square matrices.

    Formula: ``A out = I``; a matrix that has none is an error. Shapes: ``(..., n, n)`` for both.
    Types: float32, float64. Gradient: ``A_grad = -out^T out_grad out^T``.

    Examples
    --------
    >>> print(mx.nd.linalg.inverse(mx.nd.array([[2, 0], [0, 4]])).asnumpy())
    [[0.5  0.  ]
     [0.   0.25]]
    """

    name = "_linalg_inverse"
    aliases = ("linalg_inverse",)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products with the inverse."""
        g, out = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
        right = _gemm(g, out, 1.0, (False, True))
        return [_gemm(out, right, -1.0, (True, False)).entry]


@register
class InverseOrZero(Inverse):
    """The inverses of square matrices, and zeros for those that have none."""

    name = "_linalg_inverse_or_zero"
    aliases = ()
    hidden = True


class Determinant(OperatorProperty):
    """The base of determinants: a number for each matrix."""

    arguments = ("A",)
    dtypes = REALS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents in front; one number for a single matrix."""
        (shape,) = in_shapes
        count = len(self.output_names)
        if shape is None:
            return [None], [None] * count, []
        n = side(self.name, "A", shape)
        return [(*shape[:-2], n, n)], [shape[:-2] or (1,)] * count, []

    def scaled(self, graph: GradientGraph, factor: Term) -> Entry:
        """The transposed inverses, each with a factor."""
        a = Term(graph, graph.in_data[0])
        inverse = transposed(a.op("_linalg_inverse_or_zero"))
        wide = factor.op("expand_dims", axis=-1).op("expand_dims", axis=-1)
        product = Term(graph, wide.entry, "broadcast") * inverse
        # A single matrix has one factor along an axis that it lacks.
        return product.op("reshape_like", a).entry


@register
class Det(Determinant):
    """The determinants of square matrices.

    Formula: ``out = det(A)``. Shapes: ``(..., n, n)`` gives ``(...)``, and ``(1,)`` for a single
    matrix. Types: float32, float64. Gradient: ``A_grad = out_grad * out * A^-T``, and 0 for
    matrices without an inverse.

    Examples
    --------
    >>> print(mx.nd.linalg.det(mx.nd.array([[1, 4], [2, 3]])).asnumpy())
    [-5.]
    """

    name = "_linalg_det"
    aliases = ("linalg_det",)

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The transposed inverse, times the determinant."""
        g, out = Term(graph, graph.out_grad[0]), Term(graph, graph.out_data[0])
        return [self.scaled(graph, g * out)]


@register
class Slogdet(Determinant):
    """The signs of the determinants of square matrices, and the logarithms of their sizes.

    Formula: ``sign = sign(det(A))``, ``logabsdet = log(abs(det(A)))``. Shapes: ``(..., n, n)``
    gives ``(...)`` twice, and ``(1,)`` for a single matrix. Types: float32, float64.
    Gradient: ``A_grad = logabsdet_grad * A^-T``, and 0 for matrices without an inverse; none flows
    through the sign.

    Examples
    --------
    >>> sign, log = mx.nd.linalg.slogdet(mx.nd.array([[1, 4], [2, 3]]))
    >>> print(sign.asnumpy(), log.asnumpy().round(4))
    [-1.] [1.6094]
    """

    name = "_linalg_slogdet"
    aliases = ("linalg_slogdet",)

    def list_outputs(self) -> list[str]:
        """MXNet's names."""
        return ["output0", "output1"]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The transposed inverse."""
        return [self.scaled(graph, Term(graph, graph.out_grad[1]))]


@register
class Sumlogdiag(Composed):
    """The sums of the logarithms of the diagonals of square matrices.

    Formula: ``out = sum(log(A[..., i, i]))``. Shapes: ``(..., n, n)`` gives ``(...)``, and ``(1,)``
    for a single matrix. Types: float32, float64. Gradient: ``out_grad / A[..., i, i]`` on the
    diagonal and 0 elsewhere.

    Examples
    --------
    >>> print(mx.nd.linalg.sumlogdiag(mx.nd.array([[1, 1], [1, 7]])).asnumpy().round(4))
    [1.9459]
    """

    name = "_linalg_sumlogdiag"
    aliases = ("linalg_sumlogdiag",)
    arguments = ("A",)
    dtypes = REALS

    def forward(self, a: Term) -> Term:
        """Three operators."""
        return a.op("_linalg_extractdiag").op("log").op("sum", axis=-1)
