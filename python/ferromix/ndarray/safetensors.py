"""Arrays in safetensors files, which other libraries read and write, too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from .. import _core
from ..base import require_kind
from ..error import FileFormatError, InvalidArgumentError
from ..files import access
from ..ops.storage import DENSE
from .ndarray import NDArray

__all__ = ["load_safetensors", "save_safetensors"]

LIST = "ferromix.list"
"""Among the metadata of a file: its arrays have numbers for names, as they were a list."""


def save_safetensors(
    fname: str | os.PathLike[str],
    data: Mapping[str, NDArray] | Iterable[tuple[str, NDArray]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes named arrays to a safetensors file, which appears whole or not at all.

    Parameters
    ----------
    data
        The arrays by name, of any element type.
    metadata
        Texts to keep with them.

    Raises
    ------
    InvalidArgumentError
        For a csr or row_sparse array, which such a file cannot hold; for the name
        ``"__metadata__"``, or one that is there twice.
    ArgumentTypeError
        For anything but arrays and strings.
    FileAccessError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import ferromix as mx
    >>> path = Path(tempfile.mkdtemp()) / "a.safetensors"
    >>> mx.nd.save_safetensors(path, {"w": mx.nd.ones((2,))}, {"step": "7"})
    >>> mx.nd.load_safetensors(path)["w"].shape
    (2,)
    """
    texts = dict(metadata or {})
    rows = []
    for number, (name, array) in enumerate(data.items() if isinstance(data, Mapping) else data):
        require_kind("save_safetensors: an array", array, NDArray, "an NDArray")
        name = str(number) if LIST in texts else name
        require_kind("save_safetensors: a name", name, str, "a string")
        if array.stype != DENSE:
            raise InvalidArgumentError(
                f"save_safetensors: '{name}' is a {array.stype} array; such a file holds dense "
                "ones: save tostype('default'), or its data and indices"
            )
        rows.append((name, (array.dtype_name, array.shape, bytes_of(array))))
    for text in (*texts, *texts.values()):
        require_kind("save_safetensors: metadata", text, str, "strings")
    with access(fname) as path:
        _core.write_safetensors(path, rows, list(texts.items()))


def load_safetensors(fname: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a safetensors file by name.

    Raises
    ------
    FileFormatError
        For a file that is malformed, or has an element type that Ferromix lacks; the message gives
        the offset, what was expected and found.
    FileAccessError
        If the file cannot be read; a MissingFileError if there is none.
    """
    return read_safetensors(fname)[0]


def read_safetensors(fname: str | os.PathLike[str]) -> tuple[dict[str, NDArray], dict[str, str]]:
    """The arrays of a file, and its metadata; raises as :func:`load_safetensors`."""
    with access(fname) as path:
        names, rows, metadata = _core.read_safetensors(path)
    found = {
        name: array_of(f"{os.fspath(fname)}: '{name}'", shape, dtype, data)
        for name, (shape, dtype, data, _) in zip(names, rows, strict=True)
    }
    return found, dict(metadata)


def is_safetensors(fname: str | os.PathLike[str]) -> bool:
    """Whether a file is one of safetensors, by its name."""
    return str(os.fspath(fname)).lower().endswith(".safetensors")


def array_of(what: str, shape: Sequence[int], dtype: str, data: bytes) -> NDArray:
    """An array of elements that were read; `what` names it in errors.

    Raises
    ------
    FileFormatError
        For extents that no array can have, which a file can if there are no elements.
    """
    if prod(n or 1 for n in shape) > sys.maxsize // 8:
        raise FileFormatError(f"{what} has extents that no array can have: {shape}")
    handle = _core.Array(shape, dtype)
    handle.write_from(data)
    return NDArray(handle)


def bytes_of(array: NDArray) -> np.ndarray:
    """The elements in C order, as bytes, once they are written."""
    buffer = np.empty(array.handle.nbytes, np.uint8)
    array.handle.read_into(buffer)
    return buffer
