"""The memory of arrays, for operations of stores that hold them."""

from __future__ import annotations

import ctypes

import numpy as np

from ..ndarray import NDArray

__all__ = ["bytes_of"]


def bytes_of(array: NDArray) -> np.ndarray:
    """The memory of a contiguous array, for an operation of the engine that reads or writes it."""
    count = array.handle.nbytes
    if count == 0:
        return np.empty(0, np.uint8)
    memory = (ctypes.c_uint8 * count).from_address(array.handle.address())
    return np.ctypeslib.as_array(memory)
