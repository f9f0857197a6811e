"""What iterators read images and labels from: RecordIO files, and lists in files and in Python."""

from __future__ import annotations

import numbers
import os
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import recordio
from ..error import FileFormatError, InvalidArgumentError
from ..files import access
from ..io.params import INT, SIZE
from ..ndarray import NDArray

__all__ = ["labels", "part", "records"]

Labelled = dict[Any, tuple[NDArray, str]]
"""Label and path of each image, by its key."""


def records(path: Any, index: Any) -> tuple[Any, list[Any] | None]:
    """The RecordIO file, if there is one, and its keys, if there is an index."""
    if not path:
        return None, None
    if not index:
        return recordio.MXRecordIO(path, "r"), None
    file = recordio.MXIndexedRecordIO(index, path, "r")
    return file, list(file.keys)


def labels(
    function: str, path_imgrec: Any, path_imglist: Any, imglist: Any, dtype: str
) -> tuple[Labelled | None, list[Any] | None]:
    """Labels and paths by key, and the keys in the order of the list, if there is one.

    Raises
    ------
    InvalidArgumentError
        If there is neither a list nor a RecordIO file, or the list in Python is malformed.
    FileAccessError, FileFormatError
        If a list in a file cannot be read, or is malformed.
    """
    if path_imglist:
        return _from_file(path_imglist, dtype)
    if isinstance(imglist, (list, tuple)):
        return _from_items(function, imglist, dtype)
    if path_imgrec:
        return None, None
    raise InvalidArgumentError(
        f"{function}: path_imgrec, path_imglist or imglist must be given, and imglist be a list"
    )


def part(function: str, keys: list[Any] | None, index: Any, parts: Any) -> list[Any] | None:
    """The keys of one of several equal parts; what is left over is in none.

    Raises
    ------
    InvalidArgumentError
        For a part that is not there, or parts of what has no keys.
    """
    count = SIZE.parse(function, "num_parts", parts)
    number = INT.parse(function, "part_index", index)
    if count == 1:
        return keys
    if keys is None:
        raise InvalidArgumentError(
            f"{function}: num_parts needs path_imgidx, the index of the file"
        )
    if not 0 <= number < count:
        raise InvalidArgumentError(
            f"{function}: part_index must be 0 to {count - 1} as num_parts is {count}, got {number}"
        )
    size = len(keys) // count
    return keys[number * size : (number + 1) * size]


def _from_file(path: str | os.PathLike[str], dtype: str) -> tuple[Labelled, list[Any]]:
    """What a list says, by the number of the image, and these numbers in its order.

    A line has a number, labels and a path, with tabulators between. Empty lines are passed over.
    """
    found: Labelled = {}
    keys: list[Any] = []
    for place, fields in _rows(path):
        if len(fields) < 3:
            raise FileFormatError(
                f"{place}: expected a number, labels and a path, with tabulators between, "
                f"got {reprlib.repr(fields)}"
            )
        try:
            key, label = int(fields[0]), np.array(fields[1:-1], dtype)
        except (ValueError, OverflowError) as error:
            raise FileFormatError(f"{place}: {error}") from None
        found[key] = (nd.array(label, dtype=dtype), fields[-1])
        keys.append(key)
    return found, keys


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, list[str]]]:
    """Where each line is, and its fields."""
    try:
        with access(path) as resolved, open(resolved, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{os.fspath(path)}: not UTF-8: {error}") from None
    for number, line in enumerate(lines, 1):
        if line:
            yield f"{os.fspath(path)}, line {number}", line.split("\t")


def _from_items(function: str, items: Any, dtype: str) -> tuple[Labelled, list[Any]]:
    """What a list of ``[label, path]`` says, by ``"1"``, ``"2"`` and so on, as in MXNet.

    A label is a number, several of them, or an array.
    """
    found: Labelled = {}
    for number, item in enumerate(items, 1):
        if not _is_pair(item):
            raise InvalidArgumentError(
                f"{function}: item {number} of imglist must be a label and a path, "
                f"got {reprlib.repr(item)}"
            )
        label: Any = list(item[:-1])
        if len(item) == 2 and not isinstance(item[0], (numbers.Number, np.generic)):
            label = item[0]
        if isinstance(label, NDArray):
            label = label.asnumpy()
        try:
            values = np.array(label, dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                f"{function}: label of item {number} of imglist: {error}, got {reprlib.repr(label)}"
            ) from None
        found[str(number)] = (nd.array(values, dtype=dtype), item[-1])
    return found, list(found)


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, Sequence)
        and not isinstance(item, (str, bytes))
        and len(item) > 1
        and isinstance(item[-1], (str, os.PathLike))
    )
