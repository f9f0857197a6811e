"""Conversion between storage types. What is stored of a dense array is found on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...error import InvalidArgumentError
from ...ops.storage import DENSE, ROW_SPARSE
from ..ndarray import NDArray
from . import parts
from .arrays import CSRNDArray, RowSparseNDArray
from .base import BaseSparseNDArray, make
from .parts import Rows, numbers, op

__all__ = ["cast", "dense", "table", "weights"]


def cast(source: NDArray, stype: str) -> Any:
    """The same values in a storage type; a copy.

    Raises
    ------
    InvalidArgumentError
        From csr to row_sparse, or the other way; to csr from other than two dimensions.
    """
    if source.stype == stype:
        return source.copy()
    if isinstance(source, CSRNDArray) and stype == DENSE:
        stored = source.parts
        if stored.indptr.shape[0] != source.shape[0] + 1:
            source.check_format()
        columns = source.shape[1]
        return op("_csr_to_dense")(stored.data, stored.indices, stored.indptr, columns=columns)
    if isinstance(source, RowSparseNDArray) and stype == DENSE:
        stored = source.parts
        height = source.shape[0]
        return op("_rows_to_dense")(stored.values, stored.rows, stored.counter, height=height)
    if isinstance(source, BaseSparseNDArray):
        raise InvalidArgumentError(
            f"cast_storage from {source.stype} to {stype} is not supported; go by way of "
            "tostype('default')"
        )
    return _compressed(source, stype)


def _compressed(source: NDArray, stype: str) -> Any:
    place, dtype = source.handle.context, source.dtype_name
    values = source.asnumpy()
    if stype == ROW_SPARSE:
        if not values.ndim:
            raise InvalidArgumentError(
                "cast_storage: a row_sparse array has at least one dimension"
            )
        used = (values != 0).reshape(len(values), -1).any(axis=1) if values.size else np.zeros(0)
        rows = np.flatnonzero(used)
        stored = parts.rows_of(values[rows], rows, dtype, place)
        return make(RowSparseNDArray, source.shape, dtype, place, stored)
    if values.ndim != 2:
        raise InvalidArgumentError(
            f"cast_storage: a csr array has two dimensions, got shape {source.shape}"
        )
    rows, columns = np.nonzero(values)
    offsets = np.searchsorted(rows, np.arange(len(values) + 1))
    found = parts.csr_of(values[rows, columns], columns, offsets, dtype, place)
    return make(CSRNDArray, source.shape, dtype, place, found)


def dense(source: NDArray) -> NDArray:
    """The array, or what it is as a dense one, to be read only."""
    if not isinstance(source, BaseSparseNDArray):
        return source
    stored = source.parts
    if isinstance(stored, Rows) and stored.known == stored.values.shape[0] == source.shape[0]:
        return stored.values  # rows grow, so these are all of them in order
    return cast(source, DENSE)


def weights(operator: str, source: Any) -> NDArray:
    """As :func:`table` for a weight.

    Raises
    ------
    InvalidArgumentError
        A row_sparse weight with some of its rows: the others were never initialized.
    """
    if isinstance(source, BaseSparseNDArray):
        count, height = source.parts.total(), source.shape[0]
        if count not in (0, height):
            raise InvalidArgumentError(
                f"{operator}: a row_sparse weight has {count} rows, not all {height}; "
                "initialize it, or use a dense one"
            )
    return table(source)


def table(source: Any) -> NDArray:
    """The memory of an array that has all rows, to be written to in place.

    A row_sparse array that lacks some gets them, as zeros.
    """
    if not isinstance(source, BaseSparseNDArray):
        return source
    stored, height = source.parts, source.shape[0]
    count = stored.total()
    if not count == stored.values.shape[0] == height:
        place = source.handle.context
        whole = cast(source, DENSE)
        all_rows = numbers(height, place)
        counter = parts.filled(np.array([height]), "int64", place, spare=False)
        source.replace(Rows(whole, all_rows, counter, height))
    return source.parts.values
