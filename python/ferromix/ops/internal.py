"""Operators behind MXNet's own front, which saved graphs and old code may name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from . import binary  # noqa: F401 - registers what is named below
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, find, merge_shapes, register
from .composed import Composed
from .family import ALL_TYPES, NUMBERS, Elementwise, Types, derive, document
from .init import CTX, SHAPE, Constant
from .join import Concat
from .param import Param, Params
from .reduce import Reduction
from .scalar import Scalar
from .term import Term

__all__ = [
    "IdentityWithAttrLikeRhs",
    "RnnParamConcat",
    "RowsMul",
    "SquareSum",
    "ZerosWithoutDtype",
]


@register
class IdentityWithAttrLikeRhs(Composed):
    """A copy of the first input, whose shape and type must be those of the second.

    Formula: ``out = lhs``. Shapes: all alike. Types: all, all alike.
    Gradient: ``lhs_grad = out_grad``; none for ``rhs``.

    Examples
    --------
    >>> a = mx.nd.array([1, 2])
    >>> print(mx.nd._internal._identity_with_attr_like_rhs(a, mx.nd.zeros((2,))).asnumpy())
    [1. 2.]
    """

    name = "_identity_with_attr_like_rhs"
    arguments = ("lhs", "rhs")
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def forward(self, lhs: Term, rhs: Term) -> Term:
        """A copy."""
        return lhs.op("reshape_like", rhs)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One shape."""
        return OperatorProperty.infer_shape(self, in_shapes)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """One shape."""
        pairs = zip(self.arguments, in_shapes, strict=True)
        return [merge_shapes(self.name, n, s, out_shapes[0]) for n, s in pairs]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """One type."""
        return OperatorProperty.infer_type(self, in_types)


@register
class RnnParamConcat(Concat):
    """Parameters joined along an axis.

    Formula: ``out = [arg0 | arg1 | ...]``. Shapes: alike except along ``dim``, where the extents
    add up. Types: all, all alike.
    Gradient: ``out_grad``, cut into the parts.

    Examples
    --------
    >>> a, b = mx.nd.array([1, 2]), mx.nd.array([3])
    >>> print(mx.nd._internal._rnn_param_concat(a, b, dim=0).asnumpy())
    [1. 2. 3.]
    """

    name = "_rnn_param_concat"
    aliases = ()
    kernel = "Concat"


@register
class RowsMul(Elementwise):
    """The product of two tensors; of row_sparse ones, in the rows that the first stores."""

    name = "_rows_mul"
    hidden = True
    arguments = ("lhs", "rhs")
    kernel = "broadcast_mul"
    dtypes = NUMBERS

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Products with the gradient, in whose rows they are."""
        g, (lhs, rhs) = graph.out_grad[0], graph.in_data
        return [graph.op(self.name, g, other)[0] for other in (rhs, lhs)]


@register
class SquareSum(Composed):
    """The sum of squares over axes.

    Formula: ``out = sum(data ** 2)``. Shapes: those of ``sum``. Types: numbers.
    Gradient: ``data_grad = 2 * data * out_grad``; of the sum of each row of a row_sparse tensor,
    which keeps that axis, it has the rows of ``out_grad``, if that is row_sparse.

    Examples
    --------
    >>> print(mx.nd._internal._square_sum(mx.nd.array([[1, 2], [0, 3]]), axis=1).asnumpy())
    [5. 9.]
    """

    name = "_square_sum"
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    params: ClassVar[Params] = Reduction.params

    def forward(self, data: Term) -> Term:
        """The sum of the squares."""
        return data.op("_rows_mul", data).op("sum", **self.attrs)


@register
class ZerosWithoutDtype(Constant):
    """Zeros.

    Formula: ``out = 0``. Shapes: ``shape``. Types: all; float32 where none is given.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._internal._zeros_without_dtype(shape=(2,)).asnumpy())
    [0. 0.]
    """

    name = "_zeros_without_dtype"
    params: ClassVar[Params] = {
        "shape": SHAPE,
        "ctx": CTX,
        "dtype": Param("dtype", None, "The type of the output; float32.", optional=True),
    }


def _on_stored(name: str, like: str, formula: str, inputs: str, printed: str) -> None:
    """Registers an operator that is another one, but of sparse arrays takes the stored values
    alone, so that the result is stored likewise."""
    base: Any = find(like)
    card = derive(
        base,
        "".join(map(str.title, name.split("_"))),
        name=name,
        aliases=(),
        kernel=base.kernel or like,
    )
    gradients = (
        {"data": "out_grad"}
        if issubclass(base, Scalar)
        else {"lhs": "out_grad / rhs", "rhs": "-out_grad * out / rhs"}
    )
    card.__doc__ = document(
        f"``{formula}`` for every element; of a sparse array, for those that are stored.",
        f"out = {formula}",
        "all alike",
        base.dtypes,
        gradients,
        f">>> a = mx.nd.array([1, 2])\n>>> print(mx.nd._internal.{name}({inputs}).asnumpy())\n"
        f"{printed}",
    )
    register(card)


_on_stored("_scatter_plus_scalar", "_plus_scalar", "data + scalar", "a, scalar=2", "[3. 4.]")
_on_stored("_scatter_minus_scalar", "_minus_scalar", "data - scalar", "a, scalar=2", "[-1.  0.]")
_on_stored("_scatter_elemwise_div", "elemwise_div", "lhs / rhs", "a, a * 2", "[0.5 0.5]")
