"""What goes to another process and comes back: pickles, with the memory of arrays beside them.

A descriptor travels with the message itself. (Those that :mod:`multiprocessing` makes are fetched
from the sender, which must then still live, and leave a socket in the file system if it is killed.)
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import threading
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from ..context import cpu_shared
from ..ndarray import NDArray
from ..ndarray.shared import describe, rebuild

__all__ = ["Arrival", "Parcel"]

_COUNT = struct.Struct("=I")
_MOST_DESCRIPTORS = 256
"""Arrays beyond these are pickled with their elements: a process may open 1024 files."""
_LEAST_SIZE = 1 << 14
"""Arrays of fewer elements are pickled with these, unless they are shared already."""

_arrived = threading.local()


class Parcel:
    """A value, ready to be sent, to several processes if need be.

    Parameters
    ----------
    value
        Arrays in it that are large go to ``cpu_shared`` for the way.

    Raises
    ------
    Exception
        Whatever pickling raises, and what went wrong with an array.
    """

    def __init__(self, value: Any) -> None:
        self._descriptors: list[int] = []
        buffer = io.BytesIO()
        buffer.write(_COUNT.pack(0))
        try:
            _Pickler(buffer, self._descriptors).dump(value)
        except BaseException:
            self.close()
            raise
        self._data = buffer.getbuffer()
        _COUNT.pack_into(self._data, 0, len(self._descriptors))

    def send(self, to: Connection) -> None:
        """Sends it; an OSError where nobody receives."""
        to.send_bytes(self._data)
        for descriptor in self._descriptors:
            # The last argument is for Windows.
            reduction.send_handle(to, descriptor, None)

    def close(self) -> None:
        """Lets go of the descriptors."""
        while self._descriptors:
            os.close(self._descriptors.pop())


class Arrival:
    """A parcel that has arrived.

    Raises
    ------
    EOFError, OSError
        If the sender is gone.
    """

    def __init__(self, source: Connection) -> None:
        self._data = source.recv_bytes()
        (count,) = _COUNT.unpack_from(self._data)
        self._descriptors: list[int | None] = []
        try:
            for _ in range(count):
                self._descriptors.append(reduction.recv_handle(source))
        except BaseException:
            self._close()
            raise

    def open(self) -> Any:
        """The value, once; raises whatever unpickling does."""
        _arrived.descriptors = self._descriptors
        try:
            return pickle.loads(memoryview(self._data)[_COUNT.size :])
        finally:
            _arrived.descriptors = None
            self._close()

    def _close(self) -> None:
        for descriptor in self._descriptors:
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors = []


class _Pickler(reduction.ForkingPickler):
    def __init__(self, file: io.BytesIO, descriptors: list[int]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._descriptors = descriptors

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not NDArray:
            return NotImplemented
        is_shared = value.context.device_type == "cpu_shared"
        is_worth_it = is_shared or value.size >= _LEAST_SIZE
        if not is_worth_it or len(self._descriptors) == _MOST_DESCRIPTORS:
            return value.__reduce__()
        if not is_shared:
            value = value.as_in_context(cpu_shared(0))
        descriptor, *rest = describe(value)
        number = len(self._descriptors)
        self._descriptors.append(os.dup(descriptor))
        return _unpacked, (number, *rest)


def _unpacked(number: int, *rest: Any) -> NDArray:
    descriptor = _arrived.descriptors[number]
    _arrived.descriptors[number] = None
    return rebuild(descriptor, *rest)
