"""States of optimizers that MXNet saved: pickles of its own classes, read without MXNet."""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

from .. import ndarray as nd

__all__ = ["loads"]

_LIST, _END = struct.pack("<QQQ", 0x112, 0, 1), struct.pack("<Q", 0)
"""What goes before and behind one array, so that it is a file of arrays without names."""


class Shell:
    """An object of MXNet's, of which only what it was pickled with is known."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "mxnet":
            return Shell
        return super().find_class(module, name)


def loads(data: bytes) -> Any:
    """As :func:`pickle.loads`; arrays of MXNet's become arrays, its optimizers shells.

    Raises
    ------
    Exception
        Of any kind, for bytes that are no pickle.
    """
    return _array_in(_Unpickler(io.BytesIO(data)).load())


def _array_in(value: Any) -> Any:
    if isinstance(value, Shell):
        raw = value.state.get("handle") if isinstance(value.state, dict) else None
        if raw is None:
            return value
        (array,) = nd.load_frombuffer(_LIST + bytes(raw) + _END)
        return array
    kind: Any = type(value)
    if kind in (list, tuple):
        return kind(_array_in(part) for part in value)
    if kind is dict:
        return {key: _array_in(part) for key, part in value.items()}
    return value
