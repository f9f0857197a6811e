"""Values of the core's arrays, to and from NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..error import ArgumentTypeError, InvalidArgumentError

__all__ = ["numbers", "read", "trimmed", "write"]


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

    Leading axes of extent 1 may be more than `target` has.

    Raises
    ------
    InvalidArgumentError
        Values that are no numbers.
    """
    name = target.dtype
    plain = "float32" if name == "bfloat16" else name
    values = _converted(value, plain, name)
    more = values.ndim - len(target.shape)
    if more > 0 and all(extent == 1 for extent in values.shape[:more]):
        values = values.reshape(values.shape[more:])
    if values.shape == target.shape and plain == name:
        target.write_from(values.reshape(-1).view(np.uint8))
        return
    staging = _core.Array(values.shape, plain)
    staging.write_from(values.reshape(-1).view(np.uint8))
    target.copy_from(staging)


def numbers(value: Any) -> np.ndarray:
    """The NumPy array that `value` is, or that NumPy makes of it.

    Raises
    ------
    InvalidArgumentError
        Complex numbers; of a NumPy array of them, a cast takes the real parts, and warns.
    """
    values = np.asarray(value)
    if values.dtype.kind == "c" and not isinstance(value, np.ndarray):
        raise InvalidArgumentError(f"cannot put complex numbers into an array: {value!r}")
    return values


def _converted(value: Any, dtype: str, name: str) -> np.ndarray:
    """`value` as numbers of `dtype` in C order; errors speak of an array of `name`."""
    values = numbers(value)
    if values.dtype == dtype:
        return np.ascontiguousarray(values).reshape(values.shape)
    try:
        # What a type cannot hold is as in a cast of MXNet, which does not warn.
        with np.errstate(all="ignore"):
            converted = values.astype(dtype, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"cannot put {type(value).__name__} of type {values.dtype} into an array of {name}"
        ) from None
    return np.ascontiguousarray(converted).reshape(values.shape)


def trimmed(source: _core.Array, ndim: int) -> _core.Array:
    """`source` without the leading axes of extent 1 that are more than `ndim`."""
    more = len(source.shape) - ndim
    if more <= 0 or any(extent != 1 for extent in source.shape[:more]):
        return source
    return source.view(0, source.shape[more:], source.strides[more:])
