"""Sparse arrays: :class:`CSRNDArray` and :class:`RowSparseNDArray`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...error import InvalidArgumentError
from ...ops.storage import CSR, ROW_SPARSE
from ..ndarray import NDArray
from . import parts
from .base import BaseSparseNDArray
from .parts import Csr, Rows

__all__ = ["CSRNDArray", "RowSparseNDArray"]


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which each row stores the elements that are not zero, with their columns.

    Row `i` has the elements ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``. Made by :func:`ferromix.nd.sparse.csr_matrix`.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([[0, 1], [2, 3]]).tostype("csr")
    >>> a.indptr.asnumpy().tolist(), a.indices.asnumpy().tolist(), a.data.asnumpy().tolist()
    ([0, 1, 3], [1, 0, 1], [1.0, 2.0, 3.0])
    >>> a[1].asnumpy()
    array([[2., 3.]], dtype=float32)
    """

    __slots__ = ()
    storage = CSR
    in_place = False
    _parts: Csr
    _empty = staticmethod(parts.empty_csr)
    _of = staticmethod(parts.csr_of)

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row begins, and the last one ends, in int64."""
        return self._parts.indptr.copy()

    def checked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Offsets, columns and values, where the structure allows to use them.

        Columns may be in any order, and some may be there twice.

        Raises
        ------
        InvalidArgumentError
            As :meth:`check_format`.
        """
        data, indices, indptr = (p.asnumpy() for p in self._parts.exact())
        right = (
            len(indptr) == self.shape[0] + 1
            and indptr[0] == 0
            and indptr[-1] == len(indices)
            and not (np.diff(indptr) < 0).any()
            and not ((indices < 0) | (indices >= self.shape[1])).any()
        )
        if not right:
            self.check_format()
        return indptr, indices, data

    def asscipy(self) -> Any:
        """A copy as a ``scipy.sparse.csr_matrix``; needs SciPy.

        Raises
        ------
        InvalidArgumentError
            For a structure that is wrong, as :meth:`check_format`.
        """
        from scipy.sparse import csr_matrix  # an optional dependency

        indptr, indices, data = self.checked()
        return csr_matrix((data, indices, indptr), shape=self.shape, dtype=self.dtype)

    def _fill(self, number: Any) -> None:
        raise InvalidArgumentError(
            "Assigning numeric types to CSRNDArray is not implemented; assign an array"
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            if key.step not in (None, 1):
                raise InvalidArgumentError("CSRNDArray only supports continuous slicing on axis 0")
            if key.start is None and key.stop is None:
                return self
            begin, end, _ = key.indices(self.shape[0])
            return _rows(self, begin, max(begin, end))
        if isinstance(key, tuple):
            raise InvalidArgumentError("Multi-dimension indexing is not supported")
        if isinstance(key, (NDArray, np.ndarray, list)):
            raise InvalidArgumentError(f"Undefined behaviour for {key}")
        row, height = operator.index(key), self.shape[0]
        if not -height <= row < height:
            raise IndexError(f"row {row} of a csr array of shape {self.shape}")
        return _rows(self, row % height, row % height + 1)

    def check_format(self, full_check: bool = True) -> None:
        """See :meth:`BaseSparseNDArray.check_format`."""
        data, indices, indptr = self._parts.exact()
        if len(self.shape) != 2 or indptr.shape != (self.shape[0] + 1,):
            raise InvalidArgumentError(
                f"check_format: Shape mismatch of this csr NDArray: {indptr.shape[0]} offsets of "
                f"rows for shape {self.shape}"
            )
        if not full_check:
            return
        offsets, columns = indptr.asnumpy(), indices.asnumpy()
        steps = np.diff(offsets)
        if offsets[0] != 0 or (steps < 0).any() or offsets[-1] != len(data):
            raise InvalidArgumentError(
                "check_format: IndPtr of csr NDArray should be non-negative, in non-decreasing "
                f"order, start with 0, and end with the number of elements, {len(data)}"
            )
        same_row = np.ones(max(len(columns) - 1, 0), bool)
        ends = offsets[1:-1]
        same_row[ends[(ends > 0) & (ends < len(columns))] - 1] = False
        rising = np.diff(columns)[same_row] > 0
        if not rising.all() or ((columns < 0) | (columns >= self.shape[1])).any():
            raise InvalidArgumentError(
                "check_format: Indices of csr NDArray should be non-negative, in ascending order "
                f"per row and less than the number of columns, {self.shape[1]}"
            )


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows are stored, and the others are zero.

    Stored row `k` is row ``indices[k]``; the numbers grow. Made by
    :func:`ferromix.nd.sparse.row_sparse_array`.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([[0, 0], [2, 3], [0, 0]]).tostype("row_sparse")
    >>> a.indices.asnumpy().tolist(), a.data.asnumpy().tolist()
    ([1], [[2.0, 3.0]])
    """

    __slots__ = ()
    storage = ROW_SPARSE
    in_place = True
    _parts: Rows
    _empty = staticmethod(parts.empty_rows)
    _of = staticmethod(parts.rows_of)

    def _fill(self, number: Any) -> None:
        stored = np.full(self.shape, number)
        rows = np.arange(self.shape[0])
        self.replace(parts.rows_of(stored, rows, self.dtype_name, self.handle.context))

    def retain(self, *args: Any, **kwargs: Any) -> RowSparseNDArray:
        """The rows with given numbers; see :func:`ferromix.nd.sparse.retain`."""
        return parts.op("_sparse_retain")(self, *args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key == slice(None):
            return self
        if isinstance(key, (int, np.integer)):
            raise InvalidArgumentError(
                "__getitem__ with int key is not implemented for RowSparseNDArray; use retain"
            )
        raise InvalidArgumentError("RowSparseNDArray only supports [:] for __getitem__")

    def check_format(self, full_check: bool = True) -> None:
        """See :meth:`BaseSparseNDArray.check_format`."""
        data, indices = self._parts.exact()
        if not self.shape or data.shape != (*indices.shape, *self.shape[1:]):
            raise InvalidArgumentError(
                f"check_format: Shape mismatch of this row_sparse NDArray: {data.shape} for "
                f"{indices.shape[0]} rows of shape {self.shape}"
            )
        rows = indices.asnumpy()
        wrong = (np.diff(rows) <= 0).any() or ((rows < 0) | (rows >= self.shape[0])).any()
        if full_check and wrong:
            raise InvalidArgumentError(
                "check_format: Indices of row_sparse NDArray should be non-negative, less than the "
                f"size of first dimension, {self.shape[0]}, and in ascending order"
            )


def _rows(array: CSRNDArray, begin: int, end: int) -> NDArray:
    """A copy of the rows from `begin` to before `end`."""
    from ...ops.card import make as card
    from ..ndarray import invoke

    return invoke(card("slice", {"begin": (begin,), "end": (end,)}), [array])[0]
