"""How many elements a matrix stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, merge_shapes, register
from .composed import Composed
from .family import NUMBERS, Types
from .param import Param, Params
from .term import Term

__all__ = ["GetNnz"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]


@register
class GetNnz(Composed):
    """The number of elements that a csr matrix stores, zeros among them included.

    Formula: ``out[0]`` counts the whole matrix; with ``axis=1`` ``out[i]`` counts row ``i``, with
    ``axis=0`` ``out[j]`` counts column ``j``. Of a dense matrix it is how many elements are not
    zero. Shapes: ``data`` is ``(m, n)``, ``out`` ``(1,)``, ``(m,)`` or ``(n,)``. Types: numbers;
    ``out`` is int64. Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([[1, 0, 2], [0, 0, 3]]).tostype("csr")
    >>> print(mx.nd.contrib.getnnz(data, axis=1).asnumpy())
    [2 1]
    """

    name = "_contrib_getnnz"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "axis": Param("int", None, "The axis that is summed over; both where None.", optional=True)
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["axis"] not in (None, 0, 1):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'axis' must be 0, 1 or None, got {self.attrs['axis']}"
            )

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Data are a matrix."""
        data = merge_shapes(self.name, "data", in_shapes[0], (-1, -1))
        return super().infer_shape([data])

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Counts are int64."""
        return list(in_types), ["int64"], []

    def forward(self, data: Term) -> Term:
        """How many are not zero."""
        found = data.op("_not_equal_scalar", scalar=0.0).op("Cast", dtype="int64")
        return found.op("sum", axis=self.attrs["axis"])
