"""What stands in front of the data of a record: its label and its numbers."""

from __future__ import annotations

import numbers
import struct
from typing import Any, NamedTuple

import numpy as np

from ..error import ArgumentTypeError, FileFormatError, InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["IRHeader", "pack", "unpack"]

_FORMAT = struct.Struct("IfQQ")


class IRHeader(NamedTuple):
    """What stands in front of the data of a record.

    Parameters
    ----------
    flag
        How many numbers the label has if it is an array, else 0; :func:`pack` sets it.
    label
        A number, or an array of numbers.
    id, id2
        Two numbers of the user's, of 64 bits without a sign.
    """

    flag: int
    label: Any
    id: int
    id2: int


def pack(header: IRHeader, s: bytes) -> bytes:
    """The bytes of a record with header and data.

    Parameters
    ----------
    header
        The header, or four values. A label that is a number is stored as float32, and anything else
        as an array of float32, whose length becomes the flag.
    s
        The data.

    Raises
    ------
    InvalidArgumentError
        For a label that is no numbers, or numbers that do not fit.
    ArgumentTypeError
        For data that are no bytes.

    Examples
    --------
    >>> import ferromix as mx
    >>> record = mx.recordio.pack(mx.recordio.IRHeader(0, [1, 2.5], 7, 0), b"data")
    >>> header, data = mx.recordio.unpack(record)
    >>> header.flag, header.label.tolist(), header.id, data
    (2, [1.0, 2.5], 7, b'data')
    """
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"pack: the data must be bytes, got {type(s).__name__}")
    try:
        _, label, *ids = IRHeader(*header)
    except TypeError:
        raise ArgumentTypeError(
            f"pack: the header must be an IRHeader or its four values, got {header!r}"
        ) from None
    flag, array = 0, b""
    if not isinstance(label, numbers.Number):
        values = _numbers(label)
        # It stands behind the header.
        flag, label, array = values.size, 0, values.tobytes()
    try:
        head = _FORMAT.pack(flag, label, *ids)
    except (struct.error, TypeError, OverflowError) as error:
        raise InvalidArgumentError(f"pack: {IRHeader(flag, label, *ids)}: {error}") from None
    return b"".join((head, array, s))


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Header and data of a record.

    Parameters
    ----------
    s
        The bytes of a record that :func:`pack` made.

    Returns
    -------
    header : IRHeader
        With a label that is a float, or where the flag is not 0, a read-only float32 array of that
        length.
    s : bytes
        The data.

    Raises
    ------
    FileFormatError
        For bytes that are too few for a header, or for its label.
    """
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"unpack: a record must be bytes, got {type(s).__name__}")
    size = _FORMAT.size
    if len(s) < size:
        raise FileFormatError(f"unpack: a header has {size} bytes, but the record has {len(s)}")
    header, data = IRHeader(*_FORMAT.unpack(s[:size])), s[size:]
    if header.flag:
        if len(data) < 4 * header.flag:
            raise FileFormatError(
                f"unpack: a label of {header.flag} numbers has {4 * header.flag} bytes, "
                f"but {len(data)} follow the header"
            )
        label = np.frombuffer(data, np.float32, header.flag)
        header, data = header._replace(label=label), data[4 * header.flag :]
    return header, data


def _numbers(label: Any) -> np.ndarray:
    plain = label.asnumpy() if isinstance(label, NDArray) else label
    try:
        return np.asarray(plain, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"pack: the label must be a number or an array of numbers, got {label!r}: {error}"
        ) from None
