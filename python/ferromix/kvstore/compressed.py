"""Sums of gradients that went through few bits, as operations of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import engine
from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..ops.storage import DENSE
from .base import Key
from .compression import GradientCompression
from .memory import bytes_of

__all__ = ["Residuals", "pack", "require_compressible", "sum_into", "unpack"]

Residuals = dict[Key, list[NDArray]]
"""For each key, and each array pushed to it at once, what earlier gradients have left."""


def require_compressible(key: Key, stored: NDArray, arrays: Sequence[NDArray]) -> None:
    """Raises for what cannot be sent in fewer bits."""
    for array in (stored, *arrays):
        if array.stype != DENSE or array.dtype_name != "float32":
            raise InvalidArgumentError(
                f"KVStore.push: gradient compression is for dense arrays of float32; key {key!r} "
                f"has one that is {array.stype} of {array.dtype_name}"
            )


def _floats(array: NDArray) -> np.ndarray:
    return bytes_of(array).view(np.float32)


def _ready(array: NDArray) -> NDArray:
    return array if array.handle.contiguous else array.copy()


def sum_into(
    how: GradientCompression, total: NDArray, arrays: Sequence[NDArray], residuals: list[NDArray]
) -> None:
    """Overwrites `total` with the sum of what arrays become in few bits; changes `residuals`."""
    while len(residuals) < len(arrays):
        residuals.append(nd.zeros(total.shape))
    sources, left = [_ready(array) for array in arrays], residuals[: len(arrays)]
    packed = np.empty(how.packed_size(total.size), np.uint8)

    def work() -> None:
        result = _floats(total)
        result[...] = 0
        for source, residual in zip(sources, left, strict=True):
            how.pack(_floats(source), _floats(residual), packed)
            how.add_unpacked(packed, result)

    engine.push(work, const_vars=sources, mutable_vars=[total, *left], name="KVStore compressed")


def pack(how: GradientCompression, array: NDArray, residual: NDArray, packed: NDArray) -> None:
    """Overwrites `packed`, uint8, with `array` in few bits; changes `residual`."""
    source = _ready(array)

    def work() -> None:
        how.pack(_floats(source), _floats(residual), bytes_of(packed))

    engine.push(work, const_vars=[source], mutable_vars=[residual, packed], name="KVStore pack")


def unpack(how: GradientCompression, packed: NDArray, total: NDArray) -> None:
    """Overwrites `total` with the sum of the rows of `packed`."""

    def work() -> None:
        result = _floats(total)
        result[...] = 0
        for row in bytes_of(packed).reshape(packed.shape):
            how.add_unpacked(row, result)

    engine.push(work, const_vars=[packed], mutable_vars=[total], name="KVStore unpack")
