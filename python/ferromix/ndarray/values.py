"""Values of the core's arrays, to and from NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..error import InvalidArgumentError

__all__ = ["read", "write"]


def read(source: _core.Array) -> np.ndarray:
    """Waits for `source` and copies it into a NumPy array; bfloat16 becomes float32."""
    if source.dtype == "bfloat16":
        wider = _core.Array(source.shape, "float32")
        wider.copy_from(source)
        source = wider
    result = np.empty(source.shape, source.dtype)
    source.read_into(result.reshape(-1).view(np.uint8))
    return result


def write(target: _core.Array, value: Any) -> None:
    """Writes a scalar, or anything else that NumPy takes, into `target`, broadcasting.

    Raises
    ------
    InvalidArgumentError
        Values that are no numbers.
    """
    values = np.asarray(value)
    name = target.dtype
    plain = "float32" if name == "bfloat16" else name
    if values.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"cannot put {type(value).__name__} of type {values.dtype} into an array of {name}"
        )
    values = np.ascontiguousarray(values.astype(plain, copy=False)).reshape(values.shape)
    if values.shape == target.shape and plain == name:
        target.write_from(values.reshape(-1).view(np.uint8))
        return
    staging = _core.Array(values.shape, plain)
    staging.write_from(values.reshape(-1).view(np.uint8))
    target.copy_from(staging)
