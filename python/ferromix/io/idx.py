"""Files in the idx format, in which the MNIST digits come."""

from __future__ import annotations

import os

import numpy as np

from .. import _core
from ..error import ArgumentTypeError, DTypeError, FileFormatError
from ..files import access

__all__ = ["read_idx", "write_idx"]


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in an idx file, gzipped or not.

    Raises
    ------
    FileFormatError
        For a file that is not idx, is cut short, or has a shape that no array can have.
    FileAccessError
        If the file cannot be read.
    """
    with access(path) as resolved:
        shape, dtype, data = _core.read_idx(resolved)
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:
        raise FileFormatError(
            f"{os.fspath(path)}: {len(shape)} dimensions of the extents "
            f"{', '.join(map(str, shape[:8]))}{', ...' * (len(shape) > 8)}: {error}"
        ) from None


def write_idx(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Writes an array of unsigned bytes as an idx file.

    Raises
    ------
    DTypeError
        For any other element type.
    FileAccessError
        If the file cannot be written.
    ArgumentTypeError
        For what is no NumPy array.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"write_idx: the array must be one of NumPy, got {type(array).__name__}"
        )
    if array.dtype != np.uint8:
        raise DTypeError(f"write_idx: the array must be uint8, got {array.dtype}; use astype")
    with access(path) as path:
        _core.write_idx(path, array.shape, array.tobytes())
