"""``mx.nd.sparse``: arrays that do not store every zero, and the operators that know them."""

from __future__ import annotations

from typing import Any

from ...context import Context, current_context
from ...error import NotSupportedForSparseNDArray
from ...ops.card import exists, names
from ..function import function
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
    "multiply",
    "row_sparse_array",
    "subtract",
    "zeros",
]

OPERATORS = {
    "retain": "_sparse_retain",
    "gs_retain": "_sparse_retain",
    "adagrad_update": "_sparse_adagrad_update",
}
"""Names that operators have here only."""


def __getattr__(name: str) -> Any:
    found = OPERATORS.get(name, name)
    if not exists(found):
        raise AttributeError(f"module 'ferromix.ndarray.sparse' has no attribute {name!r}")
    made = function(found)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *names(), *OPERATORS})
