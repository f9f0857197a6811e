"""The dense arrays that sparse ones are made of.

Parts are never changed, so arrays may share them: an array whose contents change gets other parts.
They have room to spare, so that arrays whose number of elements differs a little have parts
of one shape, for which kernels are prepared already. How many rows a row_sparse array stores may be
known to the engine only; it waits when somebody asks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from .. import values
from ..function import function
from ..ndarray import NDArray

__all__ = [
    "Csr",
    "Place",
    "Rows",
    "csr_of",
    "empty_csr",
    "empty_rows",
    "filled",
    "numbers",
    "op",
    "room",
]

Place = tuple[int, int]
"""Where an array is, as the core numbers it."""


class Csr(NamedTuple):
    """The parts of a csr array.

    Attributes
    ----------
    data, indices
        The stored elements and their columns, with room to spare.
    indptr
        Where each row begins, and the last one ends.
    known
        How many elements are stored, where the host knows it.
    """

    data: NDArray
    indices: NDArray
    indptr: NDArray
    known: int | None

    def total(self) -> int:
        """How many elements are stored; waits where only the engine knows."""
        if self.known is not None:
            return self.known
        last = self.indptr.shape[0] - 1
        return int(self.indptr.handle.view(last, [1], [1]).item())

    def exact(self) -> tuple[NDArray, NDArray, NDArray]:
        """Views of what is stored."""
        n = min(self.total(), self.data.shape[0])
        return _head(self.data, n), _head(self.indices, n), self.indptr


class Rows(NamedTuple):
    """The parts of a row_sparse array.

    Attributes
    ----------
    values, rows
        The stored rows and their numbers, with room to spare.
    counter
        How many are stored, as an array of one element.
    known
        The same, where the host knows it.
    """

    values: NDArray
    rows: NDArray
    counter: NDArray
    known: int | None

    def total(self) -> int:
        """How many rows are stored; waits where only the engine knows."""
        return int(self.counter.handle.item()) if self.known is None else self.known

    def exact(self) -> tuple[NDArray, NDArray]:
        """Views of what is stored."""
        n = min(self.total(), self.rows.shape[0])
        return _head(self.values, n), _head(self.rows, n)


def _head(array: NDArray, n: int) -> NDArray:
    """The first `n` rows as a view."""
    handle = array.handle
    return NDArray(handle.view(0, [n, *handle.shape[1:]], list(handle.strides)))


op = lru_cache(maxsize=None)(function)
"""The function of an operator, hidden ones included."""


def room(count: int) -> int:
    """The extent of parts that hold so many: at most an eighth, or 15, more."""
    step = max(16, 1 << max(count.bit_length() - 4, 0))
    return max(-(-count // step), 1) * step


def filled(source: Any, dtype: str, place: Place, spare: bool = True) -> NDArray:
    """An array with the values of a NumPy array, and room for more rows if `spare`."""
    source = np.asarray(source)
    extent = room(len(source)) if spare else len(source)
    handle = _core.Array((extent, *source.shape[1:]), dtype, *place)
    if source.size:
        whole = [len(source), *source.shape[1:]]
        values.write(handle.view(0, whole, list(handle.strides)), source)
    return NDArray(handle)


@lru_cache(maxsize=64)
def numbers(count: int, place: Place, dtype: str = "int64") -> NDArray:
    """0, 1, ... up to `count`, without it; not to be changed."""
    return filled(np.arange(count), dtype, place, spare=False)


def csr_of(
    data: Any, columns: Any, offsets: Any, dtype: str, place: Place, spare: bool = True
) -> Csr:
    """The parts of a matrix from NumPy arrays, with room for more elements if `spare`."""
    return Csr(
        filled(data, dtype, place, spare),
        filled(columns, "int64", place, spare),
        filled(offsets, "int64", place, spare=False),
        len(data),
    )


def empty_csr(shape: tuple[int, ...], dtype: str, place: Place) -> Csr:
    """The parts of a matrix of zeros."""
    rows = shape[0] if shape else 0
    nothing = np.zeros(0)
    return csr_of(nothing, nothing, np.zeros(rows + 1, np.int64), dtype, place)


def empty_rows(shape: tuple[int, ...], dtype: str, place: Place) -> Rows:
    """The parts of an array without stored rows."""
    return rows_of(np.zeros((0, *shape[1:])), np.zeros(0), dtype, place)


def rows_of(stored: Any, rows: Any, dtype: str, place: Place) -> Rows:
    """The parts of a row_sparse array from NumPy arrays."""
    return Rows(
        filled(stored, dtype, place),
        filled(rows, "int64", place),
        filled(np.array([len(rows)]), "int64", place, spare=False),
        len(rows),
    )
