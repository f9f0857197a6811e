"""Functions that make sparse arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...base import as_shape
from ...context import placement
from ...error import ArgumentTypeError, InvalidArgumentError
from ...ops.param import dtype_name
from ...ops.storage import CSR, DENSE, ROW_SPARSE
from .. import creation
from ..ndarray import NDArray
from . import parts
from .arrays import CSRNDArray, RowSparseNDArray
from .base import BaseSparseNDArray, make

__all__ = ["array", "csr_matrix", "empty", "is_scipy", "is_sparse", "row_sparse_array", "zeros"]

CLASSES: dict[str, Any] = {CSR: CSRNDArray, ROW_SPARSE: RowSparseNDArray}


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of zeros of a storage type.

    Raises
    ------
    InvalidArgumentError
        For an unknown storage type.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.sparse.zeros("csr", (1, 2)).asnumpy()
    array([[0., 0.]], dtype=float32)
    """
    if stype == DENSE:
        return creation.zeros(shape, ctx, dtype, **kwargs)
    if stype not in CLASSES:
        raise InvalidArgumentError(
            f"unknown storage type {stype!r}; known: default, csr, row_sparse"
        )
    extents = as_shape(shape)
    if stype == CSR and len(extents) != 2:
        raise InvalidArgumentError(f"a csr array has two dimensions, got shape {extents}")
    if not extents:
        raise InvalidArgumentError("a row_sparse array has at least one dimension, got shape ()")
    return make(CLASSES[stype], extents, dtype_name(dtype), placement(ctx))


def empty(stype: str, shape: Any, ctx: Any = None, dtype: Any = None) -> NDArray:
    """An array without stored elements; see :func:`zeros`."""
    if not isinstance(stype, str) or stype not in CLASSES:
        raise InvalidArgumentError(f"unknown storage type {stype!r}; known: csr, row_sparse")
    return zeros(stype, shape, ctx, dtype)


def is_scipy(value: Any) -> bool:
    """Whether a value is a matrix of ``scipy.sparse``, which it then was made with."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and scipy.issparse(value)


def is_sparse(value: Any) -> bool:
    """Whether :func:`array` takes a value."""
    return isinstance(value, BaseSparseNDArray) or is_scipy(value)


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> BaseSparseNDArray:
    """A copy of a sparse array, or of a matrix of ``scipy.sparse`` in csr format.

    Raises
    ------
    InvalidArgumentError
        For anything else.

    Examples
    --------
    >>> import ferromix as mx
    >>> import scipy.sparse as sp
    >>> mx.nd.sparse.array(sp.csr_matrix([[0, 2.0]])).indices.asnumpy().tolist()
    [1]
    """
    if is_scipy(source_array):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    if isinstance(source_array, BaseSparseNDArray):
        return _converted(source_array, None, ctx, dtype)
    raise InvalidArgumentError(
        f"nd.sparse.array takes sparse arrays, got {type(source_array).__name__}; use nd.array"
    )


def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> CSRNDArray:
    """A csr array.

    Parameters
    ----------
    arg1
        A tuple of two extents, for zeros; ``(data, (row, column))``, of which what is in one place
        is added up; ``(data, indices, indptr)``, which is not checked (see
        :meth:`~BaseSparseNDArray.check_format`); a csr array; a matrix of ``scipy.sparse``; or
        what :func:`ferromix.nd.array` takes.
    shape
        The extents, where they do not follow from the largest index.
    ctx, dtype
        Where it lives, and its element type; by default that of the data if they have one, or
        float32.

    Raises
    ------
    InvalidArgumentError
        For what cannot be such an array.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    >>> a.asnumpy().tolist()
    [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
    """
    if isinstance(arg1, tuple):
        if len(arg1) == 2 and isinstance(arg1[1], (tuple, list)):
            return _from_coordinates(arg1[0], arg1[1], shape, ctx, dtype)
        if len(arg1) == 2:
            _require_shape(shape, arg1)
            return zeros(CSR, arg1, ctx, dtype)  # type: ignore[return-value]
        if len(arg1) == 3:
            return _from_parts(*arg1, shape, ctx, dtype)
        raise InvalidArgumentError(f"Unexpected length of input tuple: {len(arg1)}")
    if isinstance(arg1, RowSparseNDArray):
        raise InvalidArgumentError("Unexpected input type: RowSparseNDArray")
    if isinstance(arg1, CSRNDArray):
        return _converted(arg1, shape, ctx, dtype)  # type: ignore[return-value]
    if is_scipy(arg1):
        matrix = arg1.tocsr()
        matrix.sum_duplicates()
        _require_shape(shape, matrix.shape)
        return _from_parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape, ctx, dtype)
    return _from_dense(arg1, CSR, shape, ctx, dtype)


def row_sparse_array(
    arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None
) -> RowSparseNDArray:
    """A row_sparse array.

    Parameters
    ----------
    arg1
        A tuple of extents, for zeros; ``(data, indices)``, which are not checked (see
        :meth:`~BaseSparseNDArray.check_format`); a row_sparse array; or what
        :func:`ferromix.nd.array` takes.
    shape, ctx, dtype
        As for :func:`csr_matrix`.

    Raises
    ------
    InvalidArgumentError
        For what cannot be such an array.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))
    >>> a.asnumpy().tolist()
    [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    """
    if isinstance(arg1, tuple):
        if len(arg1) < 2:
            raise InvalidArgumentError(f"Unexpected length of input tuple: {len(arg1)}")
        if len(arg1) > 2 or (np.isscalar(arg1[0]) and np.isscalar(arg1[1])):
            _require_shape(shape, arg1)
            return zeros(ROW_SPARSE, arg1, ctx, dtype)  # type: ignore[return-value]
        return _from_rows(*arg1, shape, ctx, dtype)
    if isinstance(arg1, CSRNDArray):
        raise InvalidArgumentError("Unexpected input type: CSRNDArray")
    if isinstance(arg1, RowSparseNDArray):
        return _converted(arg1, shape, ctx, dtype)  # type: ignore[return-value]
    return _from_dense(arg1, ROW_SPARSE, shape, ctx, dtype)


def _require_shape(given: Any, found: Any) -> None:
    if given is not None and as_shape(given) != as_shape(found):
        raise InvalidArgumentError(
            f"Shape mismatch detected. {as_shape(given)} v.s. {as_shape(found)}"
        )


def _converted(source: BaseSparseNDArray, shape: Any, ctx: Any, dtype: Any) -> BaseSparseNDArray:
    _require_shape(shape, source.shape)
    copied = source.astype(dtype or source.dtype_name)
    return copied if ctx is None else copied.as_in_context(ctx)


def _values(given: Any, dtype: Any) -> tuple[np.ndarray, str]:
    """Values as a NumPy array, and the element type that an array of them has."""
    if isinstance(given, NDArray):
        return given.asnumpy(), dtype_name(dtype or given.dtype_name)
    found = np.asarray(given)
    return found, dtype_name(dtype or (found.dtype if isinstance(given, np.ndarray) else None))


def _whole(what: str, given: Any) -> np.ndarray:
    """Indices as int64.

    Raises
    ------
    ArgumentTypeError
        For what is no array of numbers.
    """
    found = given.asnumpy() if isinstance(given, NDArray) else np.asarray(given)
    if found.dtype.kind not in "iufb":
        raise ArgumentTypeError(f"{what} must be numbers, got {found.dtype}")
    return found.astype(np.int64)


def _from_dense(given: Any, stype: str, shape: Any, ctx: Any, dtype: Any) -> Any:
    own = given.dtype if isinstance(given, (NDArray, np.ndarray)) else None
    try:
        dense = creation.array(given, ctx, dtype or own)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"a {stype} array cannot be made of {type(given).__name__}: {error}"
        ) from None
    if stype == CSR and len(dense.shape) != 2:
        raise InvalidArgumentError(
            f"To convert to a CSR, the NDArray should be 2 Dimensional. Current shape is "
            f"{dense.shape}"
        )
    _require_shape(shape, dense.shape)
    return dense.tostype(stype)


def _from_parts(data: Any, indices: Any, indptr: Any, shape: Any, ctx: Any, dtype: Any) -> Any:
    """A csr array from its parts, of which only the extents are checked."""
    stored, name = _values(data, dtype)
    columns, offsets = _whole("indices", indices), _whole("indptr", indptr)
    if stored.ndim != 1 or columns.shape != stored.shape or offsets.ndim != 1 or not len(offsets):
        raise InvalidArgumentError(
            f"csr_matrix: data, indices and indptr of shapes {stored.shape}, {columns.shape} and "
            f"{offsets.shape} must be vectors, the first two of one length"
        )
    if shape is None:
        if not len(columns):
            raise InvalidArgumentError(
                "invalid shape: give the shape of a csr array of no elements"
            )
        shape = (len(offsets) - 1, int(columns.max()) + 1)
    shape = as_shape(shape)
    if len(shape) != 2:
        raise InvalidArgumentError(f"csr_matrix: a csr array has two dimensions, got shape {shape}")
    place = placement(ctx)
    spare = bool((offsets <= len(stored)).all())  # otherwise nothing must lie beyond
    found = parts.csr_of(stored, columns, offsets, name, place, spare)
    return make(CSRNDArray, shape, name, place, found)


def _from_coordinates(data: Any, places: Any, shape: Any, ctx: Any, dtype: Any) -> Any:
    """A csr array from values with rows and columns; what is in one place is added up."""
    stored, name = _values(data, dtype)
    if len(places) != 2:
        raise InvalidArgumentError(f"csr_matrix: (row, column) expected, got {len(places)} arrays")
    rows, columns = (_whole("row and column", p) for p in places)
    if stored.ndim != 1 or not rows.shape == columns.shape == stored.shape:
        raise InvalidArgumentError(
            f"csr_matrix: data, row and column must be vectors of one length, got shapes "
            f"{stored.shape}, {rows.shape} and {columns.shape}"
        )
    if shape is None:
        if not len(rows):
            raise InvalidArgumentError("cannot infer dimensions from zero sized index arrays")
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    height, width = shape = as_shape(shape)
    outside = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise InvalidArgumentError(
            f"csr_matrix: element {k} is at ({rows[k]}, {columns[k]}), outside of shape {shape}"
        )
    order = np.lexsort((columns, rows))
    rows, columns, stored = rows[order], columns[order], stored[order]
    first = np.ones(len(rows), bool)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    sums = np.add.reduceat(stored, np.flatnonzero(first)) if len(stored) else stored
    offsets = np.searchsorted(rows[first], np.arange(height + 1))
    if not isinstance(data, (np.ndarray, NDArray)) and dtype is None:
        name = dtype_name(np.asarray(data).dtype)
    return _from_parts(sums, columns[first], offsets, shape, ctx, name)


def _from_rows(data: Any, indices: Any, shape: Any, ctx: Any, dtype: Any) -> Any:
    """A row_sparse array from its parts, of which only the extents are checked."""
    stored, name = _values(data, dtype)
    rows = _whole("indices", indices)
    if not stored.ndim or rows.ndim != 1 or len(rows) != len(stored):
        raise InvalidArgumentError(
            f"row_sparse_array: data of shape {stored.shape} and indices of shape {rows.shape} do "
            "not go together: there must be one index for each row of the data"
        )
    if shape is None:
        if not len(rows):
            raise InvalidArgumentError("invalid shape: give the shape of an array of no rows")
        shape = (int(rows.max()) + 1, *stored.shape[1:])
    shape = as_shape(shape)
    if shape[1:] != stored.shape[1:]:
        raise InvalidArgumentError(
            f"row_sparse_array: rows of shape {stored.shape[1:]} do not fit into shape {shape}"
        )
    place = placement(ctx)
    return make(RowSparseNDArray, shape, name, place, parts.rows_of(stored, rows, name, place))
