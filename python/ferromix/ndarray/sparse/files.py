"""Sparse arrays in ``.params`` files: what MXNet stores of them, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...error import FileFormatError
from ...ops.storage import CSR
from ..ndarray import NDArray
from ..safetensors import array_of, bytes_of
from . import parts
from .arrays import CSRNDArray, RowSparseNDArray
from .base import BaseSparseNDArray, make

__all__ = ["describe", "restore"]

Part = tuple[Sequence[int], str, bytes]
"""Extents, element type and bytes."""


def describe(array: BaseSparseNDArray) -> tuple[Any, Any]:
    """What the codec writes: stored values; storage type, extents of the whole, index arrays.

    A structure that is wrong is written, and read again, as it is.
    """
    found = array.parts.exact()
    data, indices = found[0], found[:0:-1]  # where rows begin precedes the columns
    return _row(data), (array.stype, array.shape, [_row(part) for part in indices])


def restore(
    name: str,
    data: Part,
    stype: str,
    shape: Sequence[int],
    indices: Sequence[Part],
) -> BaseSparseNDArray:
    """An array of a file.

    Parameters
    ----------
    name
        What errors call it.
    data
        The stored values.
    stype
        The storage type.
    shape
        The extents of the whole.
    indices
        The index arrays.

    Raises
    ------
    FileFormatError
        Where the parts do not fit together.
    """
    extents, place = tuple(shape), (1, 0)
    values, dtype = array_of(name, *data), data[1]
    found = [array_of(name, *part).asnumpy().astype(np.int64) for part in indices]
    offsets, columns = found if stype == CSR else (np.zeros(0, np.int64), *found)
    if stype == CSR:
        if not offsets.size and len(extents) == 2:  # zeros that were never written
            offsets = np.zeros(extents[0] + 1, np.int64)
        fits = len(extents) == 2 and values.shape == columns.shape and columns.ndim == 1
        fits = fits and offsets.shape == (extents[0] + 1,)
    else:
        fits = bool(extents) and values.shape == (*columns.shape, *extents[1:])
        fits = fits and columns.ndim == 1
    if not fits:
        raise FileFormatError(
            f"{name} of shape {extents} is stored as {stype}, but its "
            f"parts of shapes {values.shape} and {[f.shape for f in found]} do not fit"
        )
    if stype != CSR:
        made = parts.rows_of(values.asnumpy(), columns, dtype, place)
        return make(RowSparseNDArray, extents, dtype, place, made)
    spare = bool((offsets <= len(columns)).all())  # otherwise nothing must lie beyond
    made = parts.csr_of(values.asnumpy(), columns, offsets, dtype, place, spare)
    return make(CSRNDArray, extents, dtype, place, made)


def _row(array: NDArray) -> tuple[str, tuple[int, ...], np.ndarray]:
    """Element type, extents and bytes."""
    return array.dtype_name, array.shape, bytes_of(array)
