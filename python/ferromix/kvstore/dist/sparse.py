"""Sparse arrays as bytes, which processes send whole."""

from __future__ import annotations

import pickle

from ... import ndarray as nd
from ...ndarray import NDArray

__all__ = ["packed", "unpacked"]


def packed(array: NDArray) -> bytes:
    """The rows of a row_sparse array, or the elements of a csr one; waits for them."""
    assert isinstance(array, nd.sparse.BaseSparseNDArray)
    if isinstance(array, nd.sparse.CSRNDArray):
        parts = (array.data, array.indices, array.indptr)
    else:
        parts = (array.data, array.indices)
    return pickle.dumps(([part.asnumpy() for part in parts], array.shape, array.dtype_name))


def unpacked(data: bytes) -> NDArray:
    """The array of :func:`packed`."""
    parts, shape, dtype = pickle.loads(data)
    make = nd.sparse.csr_matrix if len(parts) == 3 else nd.sparse.row_sparse_array
    return make(tuple(parts), shape=shape, dtype=dtype)
