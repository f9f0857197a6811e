"""Small vocabulary shared by the front: types of arguments, and MXNet's name of the base error."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .error import ArgumentTypeError, InvalidArgumentError, MXNetError
from .literal import MOST_AXES, brief, extent, members

__all__ = ["MXNetError", "ShapeLike", "as_int", "as_shape", "require_kind"]

ShapeLike = int | Sequence[int]
"""An extent, or a sequence of extents."""


def require_kind(what: str, value: object, kind: type, words: str) -> None:
    """Refuses an argument that is no instance of `kind`, which `words` describe.

    Raises
    ------
    ArgumentTypeError
        Names the argument by `what`.
    """
    if not isinstance(value, kind):
        raise ArgumentTypeError(f"{what} must be {words}, got {brief(value)}")


def as_int(what: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """The int that an argument is, NumPy's included.

    Parameters
    ----------
    what
        What errors call the argument.
    value
        What was passed.
    low, high
        The range, both ends included; no `high` without `low`.

    Raises
    ------
    ArgumentTypeError
        For anything else, floats included.
    InvalidArgumentError
        For one below `low` or above `high`.
    """
    wanted = "an int" if low is None else f"an int >= {low}"
    if high is not None:
        wanted = f"an int of {low} to {high}"
    try:
        found = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{what} must be {wanted}, got {brief(value)}") from None
    if (low is not None and found < low) or (high is not None and found > high):
        raise InvalidArgumentError(f"{what} must be {wanted}, got {brief(found)}")
    return found


def _is_extent(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def as_shape(shape: Any) -> tuple[int, ...]:
    """A tuple of extents from an int, a sequence or an array of ints, or the text of one.

    Raises
    ------
    InvalidArgumentError
        For anything else, a negative extent, or one that no memory could hold.
    """
    if type(shape) is tuple and len(shape) <= MOST_AXES and all(map(_is_extent, shape)):
        return shape  # What most callers pass, without the detours.
    try:
        found = members(shape, extent)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InvalidArgumentError(
            f"a shape must be ints of 64 bits, {MOST_AXES} at most, got {brief(shape)}"
        ) from None
    if any(d < 0 for d in found):
        raise InvalidArgumentError(f"a shape cannot have negative extents, got {brief(found)}")
    return found
