"""The pool that all arrays live in: what it holds, and its limit."""

from __future__ import annotations

from . import _core
from .error import InvalidArgumentError

__all__ = ["set_limit", "stats", "trim"]


def stats() -> dict[str, int]:
    """What the pool holds and how it served.

    Returns
    -------
    dict
        Bytes ``in_use``, ``cached``, ``peak`` (most in use so far) and ``waste`` (lost to the
        rounding of sizes), and the numbers of ``hits`` and ``misses`` of the cache.
    """
    return _core.storage_stats()


def set_limit(limit: int | None) -> None:
    """Limits the bytes in use and cached together; None lifts the limit.

    The environment variable ``FERROMIX_CPU_MEM_LIMIT`` sets it at the start.
    """
    if limit is not None and limit < 0:
        raise InvalidArgumentError(f"a limit cannot be negative, got {limit}")
    _core.storage_set_limit(limit)


def trim() -> None:
    """Gives cached memory back to the system."""
    _core.storage_trim()
