"""Saving and loading arrays in MXNet's ``.params`` format."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from .. import _core
from ..error import FileFormatError, InvalidArgumentError
from ..files import access
from .ndarray import NDArray

__all__ = ["load", "save"]


def save(
    fname: str | os.PathLike[str], data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]
) -> None:
    """Writes one array, a list of arrays or a dict of named arrays to a file.

    The file appears whole or not at all, and MXNet 1.x reads it.

    Raises
    ------
    InvalidArgumentError
        For anything but arrays.
    FileAccessError
        If the file cannot be written.
    """
    named = isinstance(data, Mapping)
    if isinstance(data, NDArray):
        items = [("", data)]
    elif isinstance(data, Mapping):
        items = list(data.items())
    else:
        items = [("", a) for a in data]
    for name, value in items:
        if not isinstance(value, NDArray):
            raise InvalidArgumentError(
                f"save takes NDArrays, got {type(value).__name__}" + (f" as '{name}'" * bool(name))
            )
    rows = [(name, a.dtype_name, a.shape, _bytes(a)) for name, a in items]
    with access(fname):
        _core.write_params(os.fspath(fname), rows, named)


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """The arrays of a file that :func:`save` or MXNet wrote: a dict if they are named.

    Raises
    ------
    FileFormatError
        A file that is malformed; the message gives the offset, what was expected and found.
    FileAccessError
        If the file cannot be read; a MissingFileError, which is a FileNotFoundError, if there is
        none.
    """
    with access(fname):
        names, rows = _core.read_params(os.fspath(fname))
    arrays = []
    for number, (shape, dtype, data) in enumerate(rows):
        # Without elements any extents fit into a file, though not into an array of NumPy's.
        if prod(n or 1 for n in shape) > sys.maxsize // 8:
            raise FileFormatError(
                f"{os.fspath(fname)}: array {number} has extents that no array can have: {shape}"
            )
        handle = _core.Array(shape, dtype)
        handle.write_from(data)
        arrays.append(NDArray(handle))
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _bytes(a: NDArray) -> np.ndarray:
    buffer = np.empty(a.handle.nbytes, np.uint8)
    a.handle.read_into(buffer)
    return buffer
