"""The pools that arrays live in: what they hold, their limits, and giving memory back.

There is one for each device: ``cpu()``, ``cpu(1)``, ``cpu_pinned()``, ``cpu_shared()`` and so on.
Where a pool is exhausted, it gives back what was unused longest, waits for arrays that are about to
be freed, gives back all it keeps, and only then does the operation fail, with an
:class:`~ferromix.error.OutOfMemoryError`, which is also a :class:`MemoryError`.

Environment variables set up each pool of ``CPU``, ``CPU_PINNED`` and ``CPU_SHARED``:
``FERROMIX_CPU_MEM_LIMIT``, ``FERROMIX_CPU_MEM_TRIM_AGE``, ``_TRIM_LOW``, ``_TRIM_HIGH``, and
MXNet's ``MXNET_CPU_MEM_POOL_TYPE``, ``_RESERVE``, ``_PAGE_SIZE``, ``_ROUND_LINEAR_CUTOFF``.
"""

from __future__ import annotations

from . import _core
from .base import as_int
from .context import Context, cpu, placement

__all__ = ["limit", "release_all", "set_limit", "stats", "trim"]

_MOST = 2**63 - 1
"""Bytes that stand for any number beyond them."""


def _device(ctx: Context | None) -> tuple[int, int]:
    return placement(ctx or cpu())


def stats(ctx: Context | None = None) -> dict[str, int]:
    """What a pool holds and how it served.

    Parameters
    ----------
    ctx
        Whose pool; by default that of ``cpu()``.

    Returns
    -------
    dict
        Bytes ``in_use``, ``cached`` (kept for reuse; ``temporary`` of them for the scratch memory
        of operators), ``waste`` (the part in use that is lost to the rounding of sizes), ``peak``
        (most in use so far) and ``peak_reserved`` (most in use and cached together); the numbers
        of requests served from kept blocks, ``hits``, and by the system, ``misses``; and that of
        blocks given back to the system, ``released``.

    Examples
    --------
    >>> import ferromix as mx
    >>> before = mx.storage.stats()["in_use"]
    >>> array = mx.nd.zeros((256, 1024))
    >>> array.wait_to_read()
    >>> mx.storage.stats()["in_use"] - before
    1048576
    """
    return _core.storage_stats(*_device(ctx))


def limit(ctx: Context | None = None) -> int | None:
    """Most bytes in use and cached together; None where there is no limit."""
    return _core.storage_limit(*_device(ctx))


def set_limit(limit: int | None, ctx: Context | None = None) -> None:
    """Limits the bytes in use and cached together; None lifts the limit.

    The environment variable ``FERROMIX_CPU_MEM_LIMIT`` sets it at the start.

    Parameters
    ----------
    limit
        Bytes. Below what is in use it takes nothing back, but refuses more.
    ctx
        Whose pool; by default that of ``cpu()``.
    """
    if limit is not None:
        limit = min(as_int("a limit", limit, 0), _MOST)
    _core.storage_set_limit(limit, *_device(ctx))


def trim(keep: int = 0, ctx: Context | None = None) -> None:
    """Gives cached memory back to the system, that which was unused longest first.

    The pool does so by itself with memory unused for a minute (``FERROMIX_CPU_MEM_TRIM_AGE``,
    in seconds). What another thread keeps for itself, at most 8 MiB in blocks of up to 512 KiB,
    stays until that thread's next call.

    Parameters
    ----------
    keep
        Bytes that may stay cached.
    ctx
        Whose pool; by default that of ``cpu()``.
    """
    keep = as_int("the bytes to keep", keep, 0)
    _core.storage_trim(min(keep, _MOST), *_device(ctx))


def release_all() -> None:
    """Gives the cached memory of all pools back to the system, as :func:`trim` does."""
    _core.storage_release_all()
