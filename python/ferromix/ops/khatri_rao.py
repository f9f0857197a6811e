"""Khatri-Rao products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..literal import MOST
from .card import MaybeShape, merge_shapes, register
from .composed import Composed
from .family import NUMBERS
from .param import Param, Params
from .shapes import require_rank
from .term import Term

__all__ = ["KhatriRao"]


@register
class KhatriRao(Composed):
    """The Kronecker products of the columns of matrices.

    Formula: ``out[:, k] = kron(arg0[:, k], arg1[:, k], ...)``. Shapes: ``(m0, n)``, ``(m1, n)``,
    ... give ``(m0 * m1 * ..., n)``. Types: numbers; all alike.
    Gradient: with respect to each matrix the sums of the products of ``out_grad`` and the others.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, -1], [2, -3]]), mx.nd.array([[1, 4], [2, 5]])
    >>> print(mx.nd.khatri_rao(a, b).asnumpy())
    [[  1.  -4.]
     [  2.  -5.]
     [  2. -12.]
     [  4. -15.]]
    """

    name = "khatri_rao"
    variadic = "num_args"
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of matrices.", low=1, high=MOST)
    }

    def forward(self, first: Term, *others: Term) -> Term:
        """Rows of the product so far with the rows of the next matrix, which are then merged."""
        product = first
        for other in others:
            rows = product.op("expand_dims", axis=1) * other.op("expand_dims", axis=0)
            product = rows.op("Reshape", shape=(-3, 0))
        return product

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """As the parts say, of matrices with the same number of columns."""
        columns = -1
        for name, shape in zip(self.list_arguments(), in_shapes, strict=True):
            if shape is not None:
                require_rank(self.name, name, shape, 2, "rows and columns")
                merged = merge_shapes(self.name, name, shape, (-1, columns))
                columns = merged[1] if merged else columns
        known = [(-1 if s is None else s[0], columns) for s in in_shapes]
        return super().infer_shape(known)
