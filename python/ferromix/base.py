"""Small vocabulary shared by the front: types of arguments, and MXNet's name of the base error."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from reprlib import Repr
from typing import Any

from .error import InvalidArgumentError, MXNetError

__all__ = ["MXNetError", "ShapeLike", "as_shape", "brief"]

_BRIEF = Repr()
_BRIEF.maxtuple = _BRIEF.maxlist = 20
_BRIEF.maxstring = _BRIEF.maxother = 200

ShapeLike = int | Sequence[int]
"""An extent, or a sequence of extents."""


def brief(value: object, limit: int = 80) -> str:
    """What an error shows of a value that may be of any size."""
    # What is left out is not spelled first; it may be a whole file.
    text = _BRIEF.repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def as_shape(shape: Any) -> tuple[int, ...]:
    """A tuple of extents from an int or a sequence of ints.

    Raises
    ------
    InvalidArgumentError
        For anything else, or a negative extent.
    """
    try:
        found = tuple(map(index, (shape,) if hasattr(shape, "__index__") else shape))
    except TypeError:
        raise InvalidArgumentError(f"a shape must be ints, got {shape!r}") from None
    if any(d < 0 for d in found):
        raise InvalidArgumentError(f"a shape cannot have negative extents, got {found}")
    return found
