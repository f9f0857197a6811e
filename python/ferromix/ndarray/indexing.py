"""Indices with arrays, which NumPy takes; basic ones are the core's part."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["to_numpy"]


def to_numpy(key: Any) -> Any:
    """The same index for a NumPy array: arrays in it become NumPy arrays of ints or bools."""
    if isinstance(key, tuple):
        return tuple(to_numpy(k) for k in key)
    if hasattr(key, "asnumpy"):
        values = key.asnumpy()
        return values if values.dtype == bool else values.astype(np.int64)
    return key
