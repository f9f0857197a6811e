"""Arrays on ``cpu_shared`` between processes.

With :mod:`multiprocessing` nothing needs to be called: queues, pipes and the arguments of a process
send such an array by a descriptor of its memory, whatever the start method.
"""

from __future__ import annotations

import os
from multiprocessing import reduction
from typing import Any

from .. import _core
from ..error import InvalidArgumentError
from ..ops.param import dtype_name
from .ndarray import NDArray

__all__ = ["from_shared_mem"]

_SHARED = 5


def _reduce(array: NDArray) -> tuple[Any, ...]:
    if array.handle.context[0] != _SHARED:
        return array.__reduce__()
    descriptor, *rest = describe(array)
    return _rebuild, (reduction.DupFd(descriptor), *rest)


def _rebuild(descriptor: Any, *rest: Any) -> NDArray:
    return rebuild(descriptor.detach(), *rest)


def describe(array: NDArray) -> tuple[int, str, int, tuple[int, ...], tuple[int, ...]]:
    """What :func:`rebuild` takes of an array on ``cpu_shared``.

    The descriptor stays the array's; what outlives the array needs a duplicate.
    """
    handle = array.handle
    return handle.share(), handle.dtype, handle.offset, handle.shape, handle.strides


def rebuild(
    descriptor: int, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> NDArray:
    """The array that was described, without a copy; the descriptor, this process's, is its own."""
    whole = _core.Array.from_shared(descriptor, dtype)
    return NDArray(whole.view(offset, shape, strides))


def from_shared_mem(pid: int, fd: int, shape: tuple[int, ...], dtype: Any) -> NDArray:
    """The array that ``NDArray._to_shared_mem()`` of some process described, without a copy.

    Parameters
    ----------
    pid
        The process that has the descriptor: this one, or another of the same user. Its array must
        live until this function returns.
    fd
        The descriptor there.
    shape, dtype
        Those of the array.

    Raises
    ------
    InvalidArgumentError
        If the descriptor cannot be reached or the memory is too small.
    """
    try:
        own = os.dup(fd) if pid == os.getpid() else os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)
    except OSError as error:
        raise InvalidArgumentError(
            f"shared memory {fd} of process {pid} cannot be reached: {error.strerror}"
        ) from error
    return NDArray(
        _core.Array.from_shared(own, dtype_name(dtype)).cast_view(dtype_name(dtype), shape)
    )


reduction.ForkingPickler.register(NDArray, _reduce)
