"""``mx.nd.sparse``: arrays that do not store every zero, and the operators that know them."""

from __future__ import annotations

from ...context import Context, current_context
from ...error import NotSupportedForSparseNDArray
from ...ops.namespaces import serve
from ..function import member
from ..ndarray import NDArray
from .arithmetic import add, divide, multiply, subtract
from .arrays import CSRNDArray, RowSparseNDArray
from .base import BaseSparseNDArray
from .create import array, csr_matrix, empty, row_sparse_array, zeros

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "Context",
    "NDArray",
    "NotSupportedForSparseNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "csr_matrix",
    "current_context",
    "divide",
    "empty",
    "gs_retain",
    "multiply",
    "retain",
    "row_sparse_array",
    "subtract",
    "zeros",
]

retain = gs_retain = member("_sparse_retain", "retain", __name__)

__getattr__, __dir__ = serve(__name__, member)
