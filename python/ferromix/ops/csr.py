"""What compressed sparse rows are computed by: operators on the parts of a csr array.

The parts are the stored values, the columns of those, and where each row begins. Values and columns
may have room to spare. Nothing of this is a user's; :mod:`ferromix.ndarray.sparse` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .card import MaybeShape, OperatorProperty, register
from .family import ALL_TYPES, Types
from .param import Param, Params
from .shapes import count

__all__ = ["CsrDot", "CsrDotRows", "CsrRowSums", "CsrSample", "CsrToDense", "Parts"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
COLUMNS = Param("int", doc="The number of columns.", low=0)


class Parts(OperatorProperty):
    """The base of operators on parts of sparse arrays, whose shapes are all known."""

    hidden: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """The inputs as they are."""
        return list(in_shapes), [self.result(in_shapes)], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The inputs as they are; a result has the type of the values."""
        return list(in_types), [in_types[self.values]] * len(self.list_outputs()), []

    values: ClassVar[int] = 0
    """The input whose type the result has."""

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """The shape of the result, from known ones."""
        raise NotImplementedError


@register
class CsrDot(Parts):
    """The product of a csr array, or of its transpose, and a dense one."""

    name = "_csr_dot"
    arguments = ("data", "indices", "indptr", "rhs")
    params: ClassVar[Params] = {
        "columns": COLUMNS,
        "transpose": Param("bool", False, "Whether the csr array is transposed."),
    }

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """Rows of the one by columns of the other."""
        indptr, rhs = in_shapes[2] or (1,), in_shapes[3] or ()
        rows = self.attrs["columns"] if self.attrs["transpose"] else indptr[0] - 1
        return (rows, *rhs[1:])


@register
class CsrDotRows(Parts):
    """The rows of the product of a transposed csr array and a dense one that may not be zero.

    Its outputs are the parts of a row_sparse array with room for ``capacity`` rows.
    """

    name = "_csr_dot_rows"
    arguments = ("data", "indices", "indptr", "rhs")
    params: ClassVar[Params] = {
        "columns": COLUMNS,
        "capacity": Param("int", doc="Rows that there is room for.", low=0),
    }

    def list_outputs(self) -> list[str]:
        """Values, numbers of rows, and their count."""
        return ["values", "rows", "count"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """The room for rows."""
        room, rhs = self.attrs["capacity"], in_shapes[3] or ()
        return list(in_shapes), [(room, *rhs[1:]), (room,), (1,)], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Row numbers are int64."""
        return list(in_types), [in_types[0], "int64", "int64"], []


@register
class CsrToDense(Parts):
    """A csr array with all its zeros."""

    name = "_csr_to_dense"
    arguments = ("data", "indices", "indptr")
    params: ClassVar[Params] = {"columns": COLUMNS}

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """Rows by columns."""
        return ((in_shapes[2] or (1,))[0] - 1, self.attrs["columns"])


@register
class CsrRowSums(Parts):
    """The sums of the rows of a csr array."""

    name = "_csr_row_sums"
    arguments = ("data", "indices", "indptr")
    params: ClassVar[Params] = {"columns": COLUMNS}

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """One for each row."""
        return ((in_shapes[2] or (1,))[0] - 1,)


@register
class CsrSample(Parts):
    """The elements of a dense matrix, or of one that is broadcast, where a csr array has some."""

    name = "_csr_sample"
    arguments = ("indices", "indptr", "matrix")
    values = 2
    params: ClassVar[Params] = {"columns": COLUMNS}

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """One for each place."""
        return (count(in_shapes[0] or ()),)
