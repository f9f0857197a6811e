"""The dot product of matrices and tensors, and of batches of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, register
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import count
from .storage import STORAGE_TYPES
from .term import Term

__all__ = ["BatchDot", "Dot"]


@register
class Dot(OperatorProperty):
    """The dot product: the last axis of the first input against the first of the second.

    Formula: ``out[i, j] = sum over k of lhs[i, k] * rhs[k, j]``. Shapes: ``(..., k)`` and
    ``(k, ...)`` give all the other extents in order; ``(1,)`` where there are none. With
    ``transpose_a`` the sum is over the first axis of ``lhs``, with ``transpose_b`` over the last
    one of ``rhs``. Types: floats; halves are multiplied as float32 and rounded once.
    Gradient: ``lhs_grad = dot(out_grad, rhs, transpose_b=True)``,
    ``rhs_grad = dot(lhs, out_grad, transpose_a=True)``.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 2]]), mx.nd.array([[3], [4]])
    >>> print(mx.nd.dot(a, b).asnumpy())
    [[11.]]
    """

    name = "dot"
    arguments = ("lhs", "rhs")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "transpose_a": Param("bool", False, "Whether the sum is over the first axis of lhs."),
        "transpose_b": Param("bool", False, "Whether the sum is over the last axis of rhs."),
        "forward_stype": Param(
            "str",
            None,
            "The storage type of the output; what the inputs suggest where None.",
            choices=STORAGE_TYPES,
            optional=True,
        ),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents over which nothing is summed; the others are the same in both."""
        lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return [lhs, rhs], [None], []
        rows, a, cols, b = _parts(self, lhs, rhs)
        if a >= 0 and b >= 0 and a != b:
            raise InvalidArgumentError(
                f"{self.name}: argument 'rhs' of shape {rhs} has {b} elements along the axis of "
                f"the sum, 'lhs' of shape {lhs} has {a}"
            )
        summed = (max(a, b),)
        lhs = summed + rows if self.attrs["transpose_a"] else rows + summed
        rhs = cols + summed if self.attrs["transpose_b"] else summed + cols
        return [lhs, rhs], [rows + cols or (1,)], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products of matrices, into which tensors are folded and from which they are unfolded."""
        first, second = self.attrs["transpose_a"], self.attrs["transpose_b"]
        lhs, rhs = (Term(graph, e) for e in graph.in_data)
        fold = {"transpose_a": first, "transpose_b": second}
        g = Term(graph, graph.out_grad[0]).op("_dot_fold", lhs, rhs, **fold)
        a, b = _matrix(lhs, keep_first=first), _matrix(rhs, keep_first=not second)
        if first:
            da = b.op("dot", g, transpose_a=second, transpose_b=True)
        else:
            da = g.op("dot", b, transpose_b=not second)
        if second:
            db = g.op("dot", a, transpose_a=True, transpose_b=first)
        else:
            db = a.op("dot", g, transpose_a=not first)
        return [da.op("reshape_like", lhs).entry, db.op("reshape_like", rhs).entry]


def _parts(card: OperatorProperty, lhs: Shape, rhs: Shape) -> tuple[Shape, int, Shape, int]:
    """The free extents and the summed one, of either input."""
    if not lhs or not rhs:
        raise InvalidArgumentError(
            f"{card.name}: arguments 'lhs' of shape {lhs} and 'rhs' of shape {rhs} need at least "
            "one dimension each"
        )
    rows, a = (lhs[1:], lhs[0]) if card.attrs["transpose_a"] else (lhs[:-1], lhs[-1])
    cols, b = (rhs[:-1], rhs[-1]) if card.attrs["transpose_b"] else (rhs[1:], rhs[0])
    return rows, a, cols, b


def _matrix(tensor: Term, keep_first: bool) -> Term:
    return tensor.op("_matrix", keep_first=keep_first)


@register
class BatchDot(OperatorProperty):
    """The products of corresponding matrices of two batches.

    Formula: ``out[n, i, j] = sum over k of lhs[n, i, k] * rhs[n, k, j]``. Shapes:
    ``(..., m, k)`` and ``(..., k, n)``, with the same extents in front, give ``(..., m, n)``; at
    least three dimensions. ``transpose_a`` and ``transpose_b`` exchange the last two dimensions
    of an input first. Types: floats; halves are multiplied as float32 and rounded once.
    Gradient: ``lhs_grad = batch_dot(out_grad, rhs, transpose_b=True)``,
    ``rhs_grad = batch_dot(lhs, out_grad, transpose_a=True)``.

    Examples
    --------
    >>> a, b = mx.nd.array([[[1, 2]], [[3, 4]]]), mx.nd.array([[[1], [1]], [[2], [2]]])
    >>> print(mx.nd.batch_dot(a, b).asnumpy().reshape(-1))
    [ 3. 14.]
    """

    name = "batch_dot"
    arguments = ("lhs", "rhs")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "transpose_a": Param("bool", False, "Whether the matrices of lhs are transposed."),
        "transpose_b": Param("bool", False, "Whether the matrices of rhs are transposed."),
        "forward_stype": Dot.params["forward_stype"],
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extents in front, and the rows of one by the columns of the other."""
        for name, shape in zip(self.arguments, in_shapes, strict=True):
            if shape is not None and len(shape) < 3:
                raise InvalidArgumentError(
                    f"{self.name}: argument '{name}' has shape {shape}, expected at least 3 "
                    "dimensions; use dot for matrices"
                )
        lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return [lhs, rhs], [None], []
        m, k = lhs[-2:][::-1] if self.attrs["transpose_a"] else lhs[-2:]
        terms, n = rhs[-2:][::-1] if self.attrs["transpose_b"] else rhs[-2:]
        pairs = [*zip(lhs[:-2], rhs[:-2], strict=False), (k, terms)]
        if len(lhs) != len(rhs) or any(a != b for a, b in pairs if a >= 0 and b >= 0):
            raise InvalidArgumentError(
                f"{self.name}: argument 'rhs' of shape {rhs} does not go with 'lhs' of shape "
                f"{lhs}: batches must be equal, and the axis of the sum must have one extent"
            )
        front = tuple(max(pair) for pair in pairs[:-1])
        return [lhs, rhs], [(*front, m, n)], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products with the other input, transposed as its place in the product asks for."""
        first, second = self.attrs["transpose_a"], self.attrs["transpose_b"]
        g, (a, b) = graph.out_grad[0], graph.in_data
        if first:
            da = graph.op("batch_dot", b, g, transpose_a=second, transpose_b=True)
        else:
            da = graph.op("batch_dot", g, b, transpose_b=not second)
        if second:
            db = graph.op("batch_dot", g, a, transpose_a=True, transpose_b=first)
        else:
            db = graph.op("batch_dot", a, g, transpose_a=not first)
        return [da[0], db[0]]


@register
class Matrix(OperatorProperty):
    """A tensor as a matrix that keeps its first extent, or its last."""

    name = "_matrix"
    kernel = "_reshape"
    hidden = True
    dtypes = FLOATS
    params: ClassVar[Params] = {"keep_first": Param("bool", doc="Which extent is kept.")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The extent that is kept, and the product of the others."""
        (shape,) = in_shapes
        if shape is None:
            return [None], [None], []
        if not shape:
            raise InvalidArgumentError(f"{self.name}: argument 'data' must not be 0-d")
        if self.attrs["keep_first"]:
            return [shape], [(shape[0], count(shape[1:]))], []
        return [shape], [(count(shape[:-1]), shape[-1])], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The matrix as a tensor again."""
        return [graph.op("reshape_like", graph.out_grad[0], graph.in_data[0])[0]]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The elements stay where they are."""
        return [(0, 0)]


@register
class DotFold(Backward):
    """``out_grad`` of dot as a matrix: the free extents of ``lhs`` by those of ``rhs``."""

    name = "_dot_fold"
    differentiable = True
    kernel = "_reshape"
    arguments = ("out_grad", "lhs", "rhs")
    gradients: ClassVar[Mapping[str, str]] = {"matrix": "out_grad"}
    dtypes = FLOATS
    params: ClassVar[Params] = {k: Dot.params[k] for k in ("transpose_a", "transpose_b")}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One extent for each input."""
        _, lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return list(in_shapes), [None], []
        rows, _, cols, _ = _parts(self, lhs, rhs)
        return list(in_shapes), [(count(rows), count(cols))], []

    def inplace_options(self) -> list[tuple[int, int]]:
        """The elements stay where they are."""
        return [(0, 0)]

    def ignored_inputs(self) -> list[int]:
        """The inputs of dot give their shapes only."""
        return [1, 2]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The matrix as a tensor again."""
        unfolded = graph.op("reshape_like", graph.out_grad[0], graph.in_data[0])[0]
        return [unfolded, None, None]
