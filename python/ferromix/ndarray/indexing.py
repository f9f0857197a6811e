"""Indices with arrays, which NumPy takes; basic ones are the core's part."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["to_numpy", "without_bools"]


def to_numpy(key: Any) -> Any:
    """The same index for a NumPy array: arrays and lists become NumPy arrays of ints or bools.

    As in MXNet, fractions of indices are cut off.
    """
    if isinstance(key, tuple):
        return tuple(to_numpy(k) for k in key)
    if hasattr(key, "asnumpy"):
        key = key.asnumpy()
    if isinstance(key, list):
        key = np.asarray(key)
    if isinstance(key, np.ndarray) and key.ndim and key.dtype.kind == "f":
        return key.astype(np.int64)
    return key


def without_bools(key: Any) -> Any:
    """The index with Python's True and False as 1 and 0, which they are in MXNet."""
    if isinstance(key, tuple):
        return tuple(without_bools(k) for k in key)
    return int(key) if isinstance(key, bool) else key
