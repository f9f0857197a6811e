"""What is given to NDArrayIter as data or labels: named arrays that can be cut into batches."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from ..ndarray import NDArray, array, slice_axis, take
from ..ndarray.sparse import CSRNDArray, RowSparseNDArray, csr_matrix

__all__ = [
    "CsrParts",
    "batch_axis",
    "is_dataset",
    "named_arrays",
    "rows_of_csr",
    "samples",
]

CsrParts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The values of a csr matrix, their columns, and where each row begins and the last ends."""


def rows_of_csr(parts: CsrParts, rows: np.ndarray) -> CsrParts:
    """Rows of a csr matrix, by their numbers, of its values, indices and row ends, and as such."""
    values, indices, ends = parts
    starts, counts = ends[rows], np.diff(ends)[rows]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
    return values[places], indices[places], indptr


def named_arrays(
    given: Any, default: str, what: str, axis: int = 0, own: bool = False
) -> list[tuple[str, Any]]:
    """Names and arrays of what was given as data or labels, in the order of the names in a dict.

    Parameters
    ----------
    given
        An array, a list of arrays, a dict of arrays by name, or None for none.
    default
        The name of a single array.
    what
        What errors call it.
    axis
        Along which axis batches are cut, where an array has it; the first, otherwise.
    own
        Whether NDArrays are copied. Otherwise they are taken as they are.

    Raises
    ------
    InvalidArgumentError
        For what is no array, or a scalar.
    """
    return [
        (name, _array(name, values, axis, own)) for name, values in _named(given, default, what)
    ]


def batch_axis(values: Any, axis: int) -> int:
    """The axis of an array's samples: that of the layout, where it has it, and else the first."""
    return axis if axis < len(values.shape) else 0


def samples(values: Any, rows: np.ndarray, axis: int = 0) -> NDArray:
    """The samples of these numbers, in this order, as an array of its own."""
    axis, span = batch_axis(values, axis), _span(rows)
    if isinstance(values, CSRNDArray):
        return values[span].copy() if span else _rows_of_csr_array(values, rows)
    if is_dataset(values):
        return _read(values, rows, axis)
    if span:
        return _slice_along_batch_axis(values, span, axis)
    return take(values, array(rows, values.context, "int64"), axis)


def _init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """Names and arrays, of what :class:`NDArrayIter` takes as data.

    Parameters
    ----------
    data, default_name
        As for :func:`named_arrays`.
    allow_empty
        Whether there may be no array.

    Raises
    ------
    InvalidArgumentError
        For no array where there must be one, and as :func:`named_arrays`.
    """
    found = named_arrays(data, default_name, "data")
    if not found and not allow_empty:
        raise InvalidArgumentError(f"there is no array in {reprlib.repr(data)}")
    return found


def _getdata_by_idx(data: Sequence[tuple[str, Any]], idx: Any) -> list[tuple[str, NDArray]]:
    """Names and arrays with the samples of these numbers, in this order."""
    rows = np.asarray(idx)
    return [(name, samples(_array(name, values, 0), rows)) for name, values in data]


def _has_instance(data: Sequence[tuple[str, Any]], dtype: type | tuple[type, ...]) -> bool:
    """Whether an array among names and arrays is of a class, such as ``CSRNDArray``."""
    return any(isinstance(values, dtype) for _, values in data)


def _slice_along_batch_axis(data: NDArray, s: slice, batch_axis: int) -> NDArray:
    """The samples of a slice, of an array whose batches lie along this axis."""
    return slice_axis(data, axis=batch_axis, begin=s.start, end=s.stop)


def _named(given: Any, default: str, what: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return sorted(given.items(), key=lambda pair: str(pair[0]))
    if isinstance(given, (NDArray, np.ndarray)) or is_dataset(given):
        return [(default, given)]
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        names = [default] if len(given) == 1 else [f"_{i}_{default}" for i in range(len(given))]
        return list(zip(names, given, strict=True))
    raise InvalidArgumentError(
        f"NDArrayIter: {what} must be an array, a list of arrays or a dict of arrays, "
        f"got {type(given).__name__}"
    )


def _array(name: str, values: Any, axis: int, own: bool = False) -> Any:
    if isinstance(values, CSRNDArray) and axis:
        raise InvalidArgumentError(
            f"NDArrayIter: '{name}' is a csr array, which has rows as samples, "
            f"but the layout has N at {axis}"
        )
    if isinstance(values, RowSparseNDArray):
        values = values.tostype("default")
    elif not isinstance(values, NDArray) and not is_dataset(values):
        values = array(_to_numpy(name, values), dtype="float32")
    elif own and isinstance(values, NDArray):
        values = values.copy()
    if not values.shape:
        raise InvalidArgumentError(f"NDArrayIter: '{name}' needs a first axis to cut, got a scalar")
    return values


def is_dataset(values: Any) -> bool:
    """Whether it is a dataset of h5py, which is read batch by batch."""
    module = sys.modules.get("h5py")
    return module is not None and isinstance(values, module.Dataset)


def _read(dataset: Any, rows: np.ndarray, axis: int) -> NDArray:
    before, span = (slice(None),) * axis, _span(rows)
    if span:
        return array(dataset[(*before, span)], dtype="float32")
    # h5py takes growing numbers only.
    sorted_rows, places = np.unique(rows, return_inverse=True)
    found = dataset[(*before, sorted_rows)]
    return array(np.take(found, places, axis), dtype="float32")


def _rows_of_csr_array(values: CSRNDArray, rows: np.ndarray) -> CSRNDArray:
    parts = values.data.asnumpy(), values.indices.asnumpy(), values.indptr.asnumpy()
    shape = len(rows), values.shape[1]
    return csr_matrix(rows_of_csr(parts, rows), shape, values.context, values.dtype)


def _to_numpy(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(
            f"NDArrayIter: '{name}' must be an NDArray, a dataset of h5py or what NumPy makes an "
            f"array of numbers of, got {reprlib.repr(values)}"
        ) from None


def _span(rows: np.ndarray) -> slice | None:
    """A slice where the numbers follow each other, whose samples lie side by side."""
    if rows.size and np.array_equal(rows, np.arange(rows[0], rows[0] + rows.size)):
        return slice(int(rows[0]), int(rows[0]) + rows.size)
    return None
