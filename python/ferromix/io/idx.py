"""Files in the idx format, in which the MNIST digits come."""

from __future__ import annotations

import os

import numpy as np

from .. import _core
from ..error import DTypeError

__all__ = ["read_idx", "write_idx"]


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in an idx file, gzipped or not.

    Raises
    ------
    FileFormatError
        For a file that is not idx, or cut short.
    """
    shape, dtype, data = _core.read_idx(os.fspath(path))
    return np.frombuffer(data, dtype).reshape(shape)


def write_idx(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Writes an array of unsigned bytes as an idx file.

    Raises
    ------
    DTypeError
        For any other element type.
    """
    if array.dtype != np.uint8:
        raise DTypeError(f"write_idx: the array must be uint8, got {array.dtype}; use astype")
    _core.write_idx(os.fspath(path), array.shape, array.tobytes())
