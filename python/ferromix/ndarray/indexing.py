"""Basic indexing as views: ints, slices, None and ``...`` become an offset and strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

__all__ = ["to_numpy", "view"]


def view(array: _core.Array, key: Any) -> _core.Array | None:
    """The view that `key` selects, or None where the index is not a basic one.

    Raises
    ------
    IndexError
        An int out of range, or more indices than dimensions.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if not all(k is None or k is Ellipsis or isinstance(k, slice) or _is_int(k) for k in keys):
        return None
    keys = _expand(keys, len(array.shape))
    offset, shape, strides, axis = 0, [], [], 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = array.shape[axis], array.strides[axis]
        if isinstance(k, slice):
            start, stop, step = k.indices(extent)
            shape.append(len(range(start, stop, step)))
            strides.append(stride * step)
            offset += start * stride if shape[-1] else 0
        else:
            offset += _position(int(k), extent, axis) * stride
        axis += 1
    return array.view(offset, shape, strides)


def to_numpy(key: Any) -> Any:
    """The same index for a NumPy array: arrays in it become NumPy arrays of ints or bools."""
    if isinstance(key, tuple):
        return tuple(to_numpy(k) for k in key)
    if hasattr(key, "asnumpy"):
        values = key.asnumpy()
        return values if values.dtype == bool else values.astype(np.int64)
    return key


def _is_int(k: Any) -> bool:
    return isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_))


def _expand(keys: tuple[Any, ...], ndim: int) -> list[Any]:
    """The keys with ``...`` spelled out, one for each axis."""
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    dots = sum(1 for k in keys if k is Ellipsis)
    if dots > 1:
        raise IndexError("an index can hold '...' only once")
    if used > ndim:
        raise IndexError(f"too many indices: the array has {ndim} dimensions, got {used}")
    rest = [slice(None)] * (ndim - used)
    if not dots:
        return [*keys, *rest]
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    return [*keys[:at], *rest, *keys[at + 1 :]]


def _position(k: int, extent: int, axis: int) -> int:
    if not -extent <= k < extent:
        raise IndexError(f"index {k} is out of range for axis {axis} with extent {extent}")
    return k % extent
