"""The pool that all arrays live in: what it holds, its limit, and giving memory back."""

from __future__ import annotations

from . import _core
from .error import InvalidArgumentError

__all__ = ["limit", "set_limit", "stats", "trim"]


def stats() -> dict[str, int]:
    """What the pool holds and how it served.

    Returns
    -------
    dict
        Bytes ``in_use``, ``cached`` (kept for reuse), ``waste`` (the part in use that is lost to
        the rounding of sizes), ``peak`` (most in use so far) and ``peak_reserved`` (most in use
        and cached together); the numbers of requests served from kept blocks, ``hits``, and by
        the system, ``misses``; and that of blocks given back to the system, ``released``.

    Examples
    --------
    >>> import ferromix as mx
    >>> before = mx.storage.stats()["in_use"]
    >>> array = mx.nd.zeros((256, 1024))
    >>> array.wait_to_read()
    >>> mx.storage.stats()["in_use"] - before
    1048576
    """
    return _core.storage_stats()


def limit() -> int | None:
    """Most bytes in use and cached together; None where there is no limit."""
    return _core.storage_limit()


def set_limit(limit: int | None) -> None:
    """Limits the bytes in use and cached together; None lifts the limit.

    Where it is reached, the pool gives back what was unused longest, and then everything it
    keeps, before an operation fails. The environment variable ``FERROMIX_CPU_MEM_LIMIT`` sets it
    at the start.

    Parameters
    ----------
    limit
        Bytes. Below what is in use it takes nothing back, but refuses more.
    """
    if limit is not None and limit < 0:
        raise InvalidArgumentError(f"a limit cannot be negative, got {limit}")
    _core.storage_set_limit(limit)


def trim(keep: int = 0) -> None:
    """Gives cached memory back to the system, that which was unused longest first.

    The pool does so by itself with memory unused for a minute (``FERROMIX_CPU_MEM_TRIM_AGE``,
    in seconds). What another thread keeps for itself, at most 8 MiB in blocks of up to 512 KiB,
    stays until that thread's next call.

    Parameters
    ----------
    keep
        Bytes that may stay cached.
    """
    if keep < 0:
        raise InvalidArgumentError(f"the bytes to keep cannot be negative, got {keep}")
    _core.storage_trim(keep)
