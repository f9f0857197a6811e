"""What is given to NDArrayIter as data or labels: named arrays that can be cut into batches."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..context import Context
from ..error import InvalidArgumentError
from ..ndarray import NDArray, array
from ..ndarray.sparse import CSRNDArray, csr_matrix

__all__ = ["CsrParts", "Source", "named_sources", "resorted", "rows_of_csr"]

CsrParts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The values of a csr matrix, their columns, and where each row begins and the last ends."""


class Source(Protocol):
    """An array that batches are taken from."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]

    def take(self, rows: np.ndarray) -> NDArray:
        """The samples of these numbers, in this order."""
        ...

    def whole(self) -> Any:
        """All of it, as a user sees it."""
        ...


class _Dense:
    """An array in memory."""

    def __init__(self, name: str, values: np.ndarray, context: Context | None, axis: int) -> None:
        self.name = name
        self.dtype = values.dtype
        self.shape = values.shape
        self._values = values
        self._context = context
        self._axis = axis

    def take(self, rows: np.ndarray) -> NDArray:
        key = (slice(None),) * self._axis + (_as_slice(rows),)
        return array(self._values[key], self._context, self.dtype)

    def whole(self) -> NDArray:
        return array(self._values, self._context, self.dtype)


class _OnDisk:
    """A dataset of h5py, of which only the samples of a batch are read at a time."""

    def __init__(self, name: str, dataset: Any, axis: int) -> None:
        self.name = name
        self.dtype = np.dtype(np.float32)
        self.shape = tuple(dataset.shape)
        self._dataset = dataset
        self._axis = axis

    def take(self, rows: np.ndarray) -> NDArray:
        before = (slice(None),) * self._axis
        key = _as_slice(rows)
        if isinstance(key, slice):
            return array(self._dataset[(*before, key)], dtype=self.dtype)
        # h5py takes growing numbers only.
        sorted_rows, places = np.unique(rows, return_inverse=True)
        found = self._dataset[(*before, sorted_rows)]
        return array(np.take(found, places, self._axis), dtype=self.dtype)

    def whole(self) -> Any:
        return self._dataset


class _Csr:
    """A csr array."""

    def __init__(self, name: str, values: CSRNDArray) -> None:
        self.name = name
        self.dtype = np.dtype(values.dtype)
        self.shape = values.shape
        self._whole = values
        indices, indptr = values.indices.asnumpy(), values.indptr.asnumpy()
        self._parts: CsrParts = values.data.asnumpy(), indices, indptr

    def take(self, rows: np.ndarray) -> NDArray:
        shape = len(rows), self.shape[1]
        parts = rows_of_csr(self._parts, rows)
        return csr_matrix(parts, shape, self._whole.context, self.dtype)

    def whole(self) -> NDArray:
        return self._whole


def rows_of_csr(parts: CsrParts, rows: np.ndarray) -> CsrParts:
    """Rows of a csr matrix, by their numbers, of its values, indices and row ends, and as such."""
    values, indices, ends = parts
    starts, counts = ends[rows], np.diff(ends)[rows]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
    return values[places], indices[places], indptr


def named_sources(given: Any, default: str, what: str, axis: int) -> list[Source]:
    """The arrays that were given as data or labels, in the order of the names in a dict.

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

    Raises
    ------
    InvalidArgumentError
        For what is no array, or a scalar.
    """
    return [_source(name, values, axis) for name, values in _named(given, default, what)]


def resorted(source: Source, places: np.ndarray, axis: int) -> Source:
    """The samples of a source in another order, as a source in memory."""
    return _source(source.name, source.take(places), axis)


def _init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """Names and arrays, of what :class:`NDArrayIter` takes as data.

    Parameters
    ----------
    data, default_name
        As for :func:`named_sources`.
    allow_empty
        Whether there may be no array.

    Raises
    ------
    InvalidArgumentError
        For no array where there must be one, and as :func:`named_sources`.
    """
    sources = named_sources(data, default_name, "data", 0)
    if not sources and not allow_empty:
        raise InvalidArgumentError(f"there is no array in {reprlib.repr(data)}")
    return [(source.name, source.whole()) for source in sources]


def _getdata_by_idx(data: Sequence[tuple[str, Any]], idx: Any) -> list[tuple[str, NDArray]]:
    """Names and arrays with the samples of these numbers, in this order."""
    rows = np.asarray(idx)
    return [(name, _source(name, values, 0).take(rows)) for name, values in data]


def _has_instance(data: Sequence[tuple[str, Any]], dtype: type | tuple[type, ...]) -> bool:
    """Whether an array among names and arrays is of a class, such as ``CSRNDArray``."""
    return any(isinstance(values, dtype) for _, values in data)


def _named(given: Any, default: str, what: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return sorted(given.items(), key=lambda pair: str(pair[0]))
    if isinstance(given, (NDArray, np.ndarray)) or _is_dataset(given):
        return [(default, given)]
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        names = [default] if len(given) == 1 else [f"_{i}_{default}" for i in range(len(given))]
        return list(zip(names, given, strict=True))
    raise InvalidArgumentError(
        f"NDArrayIter: {what} must be an array, a list of arrays or a dict of arrays, "
        f"got {type(given).__name__}"
    )


def _source(name: str, values: Any, axis: int) -> Source:
    if isinstance(values, CSRNDArray):
        if axis:
            raise InvalidArgumentError(
                f"NDArrayIter: '{name}' is a csr array, which has rows as samples, "
                f"but the layout has N at {axis}"
            )
        return _Csr(name, values)
    if isinstance(values, NDArray):
        plain, context = values.asnumpy(), values.context
    elif _is_dataset(values):
        return _OnDisk(name, values, _axis(name, values, axis))
    else:
        plain, context = _to_numpy(name, values), None
    return _Dense(name, plain, context, _axis(name, plain, axis))


def _is_dataset(values: Any) -> bool:
    module = sys.modules.get("h5py")
    return module is not None and isinstance(values, module.Dataset)


def _to_numpy(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(
            f"NDArrayIter: '{name}' must be an NDArray, a dataset of h5py or what NumPy makes an "
            f"array of numbers of, got {reprlib.repr(values)}"
        ) from None


def _axis(name: str, values: Any, axis: int) -> int:
    if not values.shape:
        raise InvalidArgumentError(f"NDArrayIter: '{name}' needs a first axis to cut, got a scalar")
    return axis if axis < len(values.shape) else 0


def _as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """A slice where the numbers follow each other, which needs no copy."""
    if rows.size and np.array_equal(rows, np.arange(rows[0], rows[0] + rows.size)):
        return slice(int(rows[0]), int(rows[0]) + rows.size)
    return rows
