"""Small vocabulary shared by the front: types of arguments, and MXNet's name of the base error."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .error import InvalidArgumentError, MXNetError

__all__ = ["MXNetError", "ShapeLike", "as_shape"]

ShapeLike = int | Sequence[int]
"""An extent, or a sequence of extents."""


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
