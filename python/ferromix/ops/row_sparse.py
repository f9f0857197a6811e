"""Conversion between storage types, and what row_sparse arrays are computed by.

The parts of a row_sparse array are the stored rows, which may be more than are in use, their
numbers, and how many are in use. The operators on parts are hidden;
:mod:`ferromix.ndarray.sparse` calls them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, register
from .csr import Parts
from .family import ALL_TYPES, Elementwise, Types
from .param import Param, Params
from .storage import STORAGE_TYPES

__all__ = [
    "CastStorage",
    "RowNumbers",
    "RowsGather",
    "RowsTake",
    "RowsToDense",
    "RowsWrite",
    "SparseRetain",
]


@register
class CastStorage(Elementwise):
    """The same values in another storage type.

    Formula: ``out = data``. A dense array becomes ``row_sparse`` with its rows that are not zero,
    or ``csr`` with its elements that are not. Shapes: ``out`` has the shape of ``data``; ``csr`` is
    for two dimensions. Types: any. Gradient: ``data_grad = out_grad``.

    Examples
    --------
    >>> out = mx.nd.cast_storage(mx.nd.array([[0, 1], [0, 0]]), stype="csr")
    >>> print(out.stype, out.indices.asnumpy())
    csr [1]
    """

    name = "cast_storage"
    kernel = "_copy"
    dtypes = ALL_TYPES
    params: ClassVar[Params] = {
        "stype": Param("str", doc="The storage type.", choices=STORAGE_TYPES)
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output, whatever its storage type."""
        return [graph.op("_copy", graph.out_grad[0])[0]]


@register
class SparseRetain(OperatorProperty):
    """The rows of a row_sparse array with given numbers; those that it lacks are zero.

    Formula: ``out[i] = data[i]`` where ``i`` is one of ``indices``, otherwise 0. Shapes: ``out``
    has the shape of ``data``. Types: floats; ``indices`` any.
    Gradient: ``data_grad`` has the rows ``indices`` of ``out_grad``; none for ``indices``.

    Examples
    --------
    >>> data = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [0, 2]), shape=(3, 2))
    >>> print(mx.nd.sparse.retain(data, mx.nd.array([2])).asnumpy())
    [[0. 0.]
     [0. 0.]
     [3. 4.]]
    """

    name = "_sparse_retain"
    arguments = ("data", "indices")
    dtypes = ALL_TYPES
    argument_dtypes: ClassVar[Claims] = {"indices": ALL_TYPES}

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the data."""
        data, indices = in_shapes
        if data is not None and not data:
            raise InvalidArgumentError(f"{self.name}: argument 'data' must have rows, it is 0-d")
        return [data, indices], [data], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [in_shapes[0] or out_shapes[0], in_shapes[1]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same rows of the gradient."""
        return [graph.op(self.name, graph.out_grad[0], graph.in_data[1])[0], None]


@register
class RowsToDense(Parts):
    """A row_sparse array with all its zeros."""

    name = "_rows_to_dense"
    arguments = ("values", "rows", "count")
    params: ClassVar[Params] = {"height": Param("int", doc="The number of rows.", low=0)}

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """All rows."""
        return (self.attrs["height"], *(in_shapes[0] or (0,))[1:])


@register
class RowsGather(Parts):
    """The rows of a dense array with given numbers; zeros beyond those in use."""

    name = "_rows_gather"
    arguments = ("data", "rows", "count")

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """As many rows as there is room for."""
        return ((in_shapes[1] or (0,))[0], *(in_shapes[0] or (0,))[1:])


@register
class RowsTake(Parts):
    """The rows of a row_sparse array with given numbers; zeros where they are not stored."""

    name = "_rows_take"
    arguments = ("values", "rows", "count", "wanted")

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """A row for each number."""
        return (*(in_shapes[3] or ()), *(in_shapes[0] or (0,))[1:])


@register
class RowsWrite(Parts):
    """A dense array in which rows are replaced by given ones; in place where it is the output."""

    name = "_rows_write"
    arguments = ("data", "values", "rows", "count")

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """The shape of the dense array."""
        return in_shapes[0]

    def inplace_options(self) -> list[tuple[int, int]]:
        """The array itself may be the output."""
        return [(0, 0)]


@register
class RowNumbers(Parts):
    """Numbers of rows as int64, which must be there."""

    name = "_row_numbers"
    arguments = ("data",)
    params: ClassVar[Params] = {"height": Param("int", doc="The number of rows.", low=0)}

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Numbers are int64."""
        return list(in_types), ["int64"], []

    def result(self, in_shapes: Sequence[MaybeShape]) -> MaybeShape:
        """The shape of the data."""
        return in_shapes[0]
