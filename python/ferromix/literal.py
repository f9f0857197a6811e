"""Values as users and files spell them: numbers and lists of numbers, checked before they are read.

A saved graph spells everything as text, which may be anything. Python's own parser would take a
text apart into hundreds of times as much memory, so texts are cut at commas here, after their
length has been checked.
"""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from .error import InvalidArgumentError

__all__ = [
    "MOST",
    "MOST_AXES",
    "TooManyError",
    "brief",
    "factor",
    "integer",
    "literal",
    "members",
    "names_of",
    "real",
]

T = TypeVar("T")

MOST: Final = 65536
"""The most inputs, outputs or members of a list that an operator may have."""
MOST_AXES: Final = 1024
"""The most members of an attribute that has one, or two, for each dimension."""

_LONGEST = 400
"""Characters of a number; the largest float has 309 digits before the point."""
_INTEGER = re.compile(r"[+-]?[0-9]+L?", re.ASCII)
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?f?", re.ASCII | re.IGNORECASE)
_WORDS: Final[dict[str, Any]] = {
    "none": None,
    "true": True,
    "false": False,
    **{sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "nan")},
    **{sign + "infinity": float(sign + "inf") for sign in ("", "+", "-")},
}


class TooManyError(ValueError):
    """A list of more members than are allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(f"which has more than {most} members")


def literal(text: str, most: int = MOST_AXES) -> Any:
    """What a text spells: a number, a bool, None, or a tuple of these.

    Saved graphs of Python 2 spell ints as ``3L``, and bools come in lower case.

    Raises
    ------
    ValueError
        For anything else, or a list of more than `most` members.
    """
    text = text.strip()
    brackets = text[:1] + text[-1:]
    if brackets in ("()", "[]"):
        text = text[1:-1].strip()
    elif "," not in text:
        return _scalar(text)
    if text.count(",") > most:
        raise TooManyError(most)
    parts = text.split(",")
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return tuple(_scalar(p.strip()) for p in parts) if text else ()


def _scalar(text: str) -> Any:
    if len(text) > _LONGEST:
        raise ValueError
    if _INTEGER.fullmatch(text):
        return int(text.removesuffix("L"))
    if _REAL.fullmatch(text):
        return float(text.rstrip("fF"))
    word = text.lower()
    if word not in _WORDS:
        raise ValueError
    return _WORDS[word]


def integer(value: Any) -> int:
    """An int of 64 bits from any number that is whole.

    Raises
    ------
    TypeError, ValueError
        For what is no whole number.
    OverflowError
        For one that does not fit into 64 bits.
    """
    if isinstance(value, np.bool_) or not hasattr(value, "__index__"):
        number = real(value)
        if not number.is_integer():
            raise ValueError
        value = int(number)
    value = operator.index(value)
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError
    return value


def extent(value: Any) -> int:
    """An extent of a shape: an int of 64 bits; unlike :func:`integer` it takes no floats or bools.

    Raises
    ------
    TypeError, OverflowError
        For anything else.
    """
    if isinstance(value, bool):
        raise TypeError
    return integer(operator.index(value))


def real(value: Any) -> float:
    """A float from any number.

    Raises
    ------
    TypeError, ValueError, OverflowError
        For what is no number, or too large a one.
    """
    if isinstance(value, (str, bytes, bytearray, np.ndarray)):
        raise TypeError
    return float(value)


def factor(operation: str, number: Any) -> float:
    """The number of an arithmetic operation as a float.

    Raises
    ------
    InvalidArgumentError
        For one beyond the range of floats.
    """
    try:
        return real(number)
    except (OverflowError, TypeError, ValueError):
        raise InvalidArgumentError(
            f"{operation}: an operand must be a number within the range of float64, "
            f"got {brief(number)}"
        ) from None


def members(value: Any, convert: Callable[[Any], T], most: int = MOST_AXES) -> tuple[T, ...]:
    """The members of a sequence, of a NumPy array or of a text; a number counts as one of itself.

    Raises
    ------
    TypeError, ValueError, OverflowError
        For anything else, members that `convert` does not take, or more than `most` of them.
    """
    if isinstance(value, str):
        value = literal(value, most)
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            raise ValueError
        if value.size > most:
            raise TooManyError(most)
        value = value.tolist()
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError
    if not isinstance(value, Sequence):
        return (convert(value),)
    if len(value) > most:
        raise TooManyError(most)
    return tuple(convert(v) for v in value)


class _Repr(reprlib.Repr):
    """`repr` of bounded length, also of nested and huge values."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 80
        self.maxtuple = self.maxlist = self.maxdict = 12


def brief(value: object, limit: int = 120) -> str:
    """What an error shows of a value that may be of any size."""
    # What is left out is not spelled first; it may be a whole file.
    try:
        text = _Repr().repr(value)
    except (ValueError, RecursionError):  # An int of thousands of digits, for one.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def names_of(names: Iterable[str]) -> str:
    """Names for a message: the first ones, and how many there are of more than a few."""
    listed = list(names)
    if len(listed) <= 16:
        return ", ".join(listed) or "none"
    return f"{', '.join(listed[:12])}, ... ({len(listed)} in all)"
