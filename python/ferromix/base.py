"""Small vocabulary shared by the front: types of arguments, and MXNet's name of the base error."""

from __future__ import annotations

import ast
import operator
import reprlib
from collections.abc import Sequence
from reprlib import Repr
from typing import Any

from .error import ArgumentTypeError, InvalidArgumentError, MXNetError

__all__ = ["MXNetError", "ShapeLike", "as_int", "as_shape", "brief"]

_BRIEF = Repr()
_BRIEF.maxtuple = _BRIEF.maxlist = 20
_BRIEF.maxstring = _BRIEF.maxother = 200

ShapeLike = int | Sequence[int]
"""An extent, or a sequence of extents."""

_MOST = 2**63 - 1


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
        raise ArgumentTypeError(f"{what} must be {wanted}, got {reprlib.repr(value)}") from None
    if (low is not None and found < low) or (high is not None and found > high):
        raise InvalidArgumentError(f"{what} must be {wanted}, got {reprlib.repr(found)}")
    return found


def brief(value: object, limit: int = 80) -> str:
    """What an error shows of a value that may be of any size."""
    # What is left out is not spelled first; it may be a whole file.
    text = _BRIEF.repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def as_shape(shape: Any) -> tuple[int, ...]:
    """A tuple of extents from an int or several, or from MXNet's spelling of them as a string.

    Raises
    ------
    InvalidArgumentError
        For anything else, a negative extent, or one that no memory could hold.
    """
    given = _spelled(shape) if isinstance(shape, str) else shape
    several = isinstance(given, Sequence) or getattr(given, "shape", ()) != ()
    try:
        extents: list[Any] = list(given) if several else [given]
        if any(isinstance(extent, bool) for extent in extents):
            raise TypeError
        found = tuple(operator.index(extent) for extent in extents)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"a shape must be ints, got {reprlib.repr(shape)}") from None
    if any(d < 0 for d in found):
        raise InvalidArgumentError(f"a shape cannot have negative extents, got {found}")
    if any(d > _MOST for d in found):
        raise InvalidArgumentError(f"a shape of {found} is more than any memory holds")
    return found


def _spelled(text: str) -> Any:
    """What a string says, or the string, if it is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
