"""Ranges that parts of images are drawn from, by a share of the area and a ratio of the sides."""

from __future__ import annotations

import logging
import numbers
import reprlib
import warnings
from typing import Any

from ...error import InvalidArgumentError

__all__ = ["Pair", "is_drawn", "number", "pair"]

_log = logging.getLogger(__name__)

Pair = tuple[float, float] | list[float]
"""The least and the largest of what is drawn."""


def pair(function: str, name: str, value: Any) -> Pair:
    """The least and the largest; a number is both.

    Raises
    ------
    InvalidArgumentError
        For what is neither a number nor two of them.
    """
    if isinstance(value, numbers.Real):
        _log.info("%s: %s is always %s", function, name, value)
        value = (value, value)
    if (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(n, numbers.Real) for n in value)
    ):
        return value
    raise InvalidArgumentError(
        f"{function}: {name} must be a number, or the least and the largest, "
        f"got {reprlib.repr(value)}"
    )


def number(function: str, name: str, value: Any, kind: Any = numbers.Real) -> Any:
    """The value as it is.

    Raises
    ------
    InvalidArgumentError
        For what is no number, or of another kind.
    """
    if isinstance(value, kind):
        return value
    what = "an int" if kind is numbers.Integral else "a number"
    raise InvalidArgumentError(f"{function}: {name} must be {what}, got {reprlib.repr(value)}")


def is_drawn(function: str, area: Pair, ratio: Pair, above: float) -> bool:
    """Whether there is something to draw; if not, a warning says that the augmenter does nothing.

    Parameters
    ----------
    function
        The augmenter.
    area, ratio
        The ranges.
    above
        What the largest area must be above.
    """
    for name, (low, high), fits in (
        ("area_range", area, area[1] > above),
        ("aspect_ratio_range", ratio, ratio[0] > 0),
    ):
        if not fits or not low <= high:
            warnings.warn(f"{function} does nothing: {name} is {(low, high)}", stacklevel=3)
            return False
    return True
