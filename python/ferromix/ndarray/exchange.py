"""What lets other libraries read and write an NDArray's memory, as methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..context import Context
from ..error import InvalidArgumentError
from ..ops.storage import DENSE
from . import values

__all__ = ["Exchange"]

_CPU = (1, 0)
_CUDA = 2
_DEFAULT_STREAM, _NO_WAIT = 1, -1


def _place(handle: _core.Array) -> str:
    kind, number = handle.context
    return f"{Context.devtype2str[kind]}({number})"


class Exchange(_core.Dense):
    """NumPy's protocols for arrays, and DLPack's."""

    __slots__ = ()

    def asnumpy(self) -> np.ndarray:
        """Waits for the array and copies it into a NumPy array; bfloat16 becomes float32."""
        return values.read(self.handle)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The values as an array of NumPy: a read-only view of the memory, where there can be one.

        Of an array on a GPU it takes a copy.

        Parameters
        ----------
        dtype
            The type, by default the array's own; float32 for bfloat16, which NumPy lacks.
        copy
            True for a copy, False for none, None for one if it is needed.

        Raises
        ------
        ValueError
            Where it takes a copy, which `copy` forbids.
        """
        near = self.__dlpack_device__() == _CPU
        plain = near and self.stype == DENSE and self.handle.dtype != "bfloat16"
        fits = plain and (dtype is None or np.dtype(dtype) == self.handle.dtype)
        if fits and not copy:
            return np.asarray(memoryview(self))
        if copy is False:
            raise ValueError(
                f"an NDArray of {self.handle.dtype} on {_place(self.handle)} cannot become a "
                f"NumPy array of {dtype or 'its type'} without a copy"
            )
        result = self.asnumpy()
        return result if dtype is None else result.astype(dtype, copy=False)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Where the elements are, read-only, once the writes pushed before are done."""
        handle = self.handle
        far = self.__dlpack_device__() != _CPU
        if far or self.stype != DENSE or handle.dtype == "bfloat16":
            raise AttributeError(
                f"NumPy has no array like one of {handle.dtype} that is {self.stype}, on "
                f"{_place(self.handle)}"
            )
        kind = np.dtype(handle.dtype)
        return {
            "version": 3,
            "shape": handle.shape,
            "typestr": kind.str,
            "strides": tuple(stride * kind.itemsize for stride in handle.strides),
            "data": (_core.address_of(handle), True),
        }

    def __dlpack__(
        self,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of DLPack with the memory, once everything pushed before is done.

        Parameters
        ----------
        stream
            For an array on a GPU, the stream that waits for what was pushed before, as DLPack
            numbers them; None for CUDA's default stream, -1 for no wait. The CPU has no streams.
        max_version
            The newest version that the caller knows. Without it, the capsule is one from before
            version 1.0.
        dl_device
            Where to have it: where it is.
        copy
            True for a copy.

        Raises
        ------
        BufferError
            For another device; for a read-only array and a caller from before version 1.0.
        """
        here = self.__dlpack_device__()
        if stream is not None and here == _CPU:
            raise InvalidArgumentError(f"__dlpack__: the CPU has no streams, got stream={stream!r}")
        if dl_device is not None and tuple(dl_device) != here:
            raise BufferError(f"__dlpack__: the array is on device {here}, not on {dl_device}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        handle = self._whole("__dlpack__")
        if copy:
            copied = _core.Array(handle.shape, handle.dtype, *handle.context)
            copied.copy_from(handle)
            handle = copied
        waits = None if here == _CPU or stream == _NO_WAIT else stream or _DEFAULT_STREAM
        return _core.to_dlpack(handle, versioned, True, bool(copy), waits)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's type and number of the device: ``(1, 0)``, the CPU, or ``(2, n)``, a GPU."""
        kind, number = self.handle.context
        return (_CUDA, number) if kind == Context.devstr2type["gpu"] else _CPU

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the elements are on a GPU, and the stream that others must have waited for.

        What is enqueued by somebody else later is not ordered with what is done here: who gives the
        memory back must wait on the device, or on the host.
        """
        handle = self.handle
        kind, _ = handle.context
        if self.stype != DENSE or kind != Context.devstr2type["gpu"] or handle.dtype == "bfloat16":
            raise AttributeError(
                f"an array of {handle.dtype} that is {self.stype}, on {Context.devtype2str[kind]}, "
                "has no __cuda_array_interface__"
            )
        address, stream = _core.lend_on_gpu(handle)
        element = np.dtype(handle.dtype)
        return {
            "version": 3,
            "shape": handle.shape,
            "typestr": element.str,
            "strides": tuple(stride * element.itemsize for stride in handle.strides),
            "data": (address if handle.size else 0, not handle.writable),
            "stream": stream,
        }

    def to_dlpack_for_read(self) -> Any:
        """A capsule for somebody who reads; see :func:`ferromix.nd.to_dlpack_for_read`."""
        return _core.to_dlpack(self._whole("to_dlpack_for_read"), False, False, False)

    def to_dlpack_for_write(self) -> Any:
        """A capsule for somebody who writes; see :func:`ferromix.nd.to_dlpack_for_write`."""
        return _core.to_dlpack(self._whole("to_dlpack_for_write"), False, True, False)

    def _whole(self, method: str) -> _core.Array:
        if self.stype != DENSE:
            raise InvalidArgumentError(
                f"{method}: a {self.stype} array has no one piece of memory; take its data, or "
                "tostype('default')"
            )
        return self.handle
