"""Distributed stores by name."""

from __future__ import annotations

from typing import Final

from ...error import InvalidArgumentError
from ..kvstore import KVStore
from .sync import DistSyncKVStore
from .unsynced import DistAsyncKVStore

__all__ = ["NAMES", "create_dist"]

SYNC: Final = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device", "horovod")
ASYNC: Final = ("dist_async", "dist_device_async", "dist_async_device")
NAMES: Final = SYNC + ASYNC
"""The names of distributed stores, as in MXNet; one process a GPU makes no difference to CPUs."""


def create_dist(name: str) -> KVStore:
    """A store that all processes share which MPI started together; all must create it.

    Parameters
    ----------
    name
        One of :data:`NAMES`.

    Raises
    ------
    InvalidArgumentError
        For another name.
    MXNetError
        Where MPI cannot be used.
    """
    if name not in NAMES:
        raise InvalidArgumentError(f"unknown KVStore {name!r}; known: {', '.join(NAMES)}")
    return DistAsyncKVStore(name) if name in ASYNC else DistSyncKVStore(name)
