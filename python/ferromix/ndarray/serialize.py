"""Saving and loading arrays, in MXNet's ``.params`` format and as safetensors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from ..base import require_kind
from ..error import ArgumentTypeError
from ..files import access
from .ndarray import NDArray
from .safetensors import (
    LIST,
    array_of,
    bytes_of,
    is_safetensors,
    read_safetensors,
    save_safetensors,
)
from .sparse import files as sparse_files
from .sparse.base import BaseSparseNDArray

__all__ = ["load", "load_frombuffer", "save"]


def save(
    fname: str | os.PathLike[str], data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]
) -> None:
    """Writes one array, a list of arrays or a dict of named arrays to a file.

    The file appears whole or not at all, and MXNet 1.x reads it, unless its name ends in
    ``.safetensors``: then it is such a file.

    Raises
    ------
    InvalidArgumentError
        For anything but arrays, or names that are no strings; for a csr or row_sparse array in a
        safetensors file.
    FileAccessError
        If the file cannot be written.
    """
    items = _items(data)
    if is_safetensors(fname):
        named = isinstance(data, Mapping)
        return save_safetensors(fname, items, None if named else {LIST: "1"})
    rows = [_row(name, a) for name, a in items]
    with access(fname) as path:
        _core.write_params(path, rows, isinstance(data, Mapping))


def _items(data: Any) -> list[tuple[str, NDArray]]:
    named = isinstance(data, Mapping)
    if isinstance(data, Mapping):
        items = list(data.items())
    else:
        items = [("", a) for a in ([data] if isinstance(data, NDArray) else data)]
    for name, value in items:
        if not isinstance(value, NDArray):
            raise ArgumentTypeError(
                f"save takes NDArrays, got {type(value).__name__}" + (f" as '{name}'" * bool(named))
            )
        require_kind("save: a name", name, str, "a string")
    return items


def _row(name: str, a: NDArray) -> tuple[str, Any, Any]:
    """What the codec writes of an array."""
    if isinstance(a, BaseSparseNDArray):
        return name, *sparse_files.describe(a)
    return name, (a.dtype_name, a.shape, bytes_of(a)), None


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """The arrays of a file that :func:`save` or MXNet wrote: a dict if they are named.

    A file whose name ends in ``.safetensors`` is read as such, whoever wrote it.

    Raises
    ------
    FileFormatError
        A file that is malformed; the message gives the offset, what was expected and found.
    FileAccessError
        If the file cannot be read; a MissingFileError, which is a FileNotFoundError, if there is
        none.
    """
    if is_safetensors(fname):
        found, metadata = read_safetensors(fname)
        return list(found.values()) if LIST in metadata else found
    with access(fname) as path:
        names, rows = _core.read_params(path)
    return _arrays(os.fspath(fname), names, rows)


def load_frombuffer(buf: bytes) -> list[NDArray] | dict[str, NDArray]:
    """The arrays of a ``.params`` file whose bytes are in memory; see :func:`load`.

    Raises
    ------
    ArgumentTypeError
        For anything but bytes.
    FileFormatError
        For bytes that are malformed; the message gives the offset, what was expected and found.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import ferromix as mx
    >>> path = Path(tempfile.mkdtemp()) / "a.params"
    >>> mx.nd.save(path, {"w": mx.nd.ones((2,))})
    >>> mx.nd.load_frombuffer(path.read_bytes())["w"].shape
    (2,)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"load_frombuffer takes bytes, got {type(buf).__name__}")
    names, rows = _core.read_params_bytes("buffer", bytes(buf))
    return _arrays("buffer", names, rows)


def _arrays(source: str, names: list[str], rows: list[Any]) -> list[NDArray] | dict[str, NDArray]:
    arrays = []
    for number, (shape, dtype, data, sparse) in enumerate(rows):
        if sparse is not None:
            arrays.append(
                sparse_files.restore(f"{source}: array {number}", (shape, dtype, data), *sparse)
            )
        else:
            arrays.append(array_of(f"{source}: array {number}", shape, dtype, data))
    return dict(zip(names, arrays, strict=True)) if names else arrays
