"""Typed attributes of operators: parsing, checking and MXNet's spelling of each.

An attribute comes from Python (a number, a tuple) or from a saved graph, where everything is a
string such as ``"(2, 2)"``. Both ways lead through :meth:`Param.parse`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import MOST_AXES, TooManyError, brief, integer, literal, members, real

__all__ = ["REQUIRED", "Kind", "Param", "Params", "dtype_name"]

Kind = Literal["int", "float", "bool", "str", "shape", "floats", "slots", "axis", "dtype"]


class _Required:
    """The default of an attribute that must be given."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()
_LONGEST_DTYPE = 32
"""Characters of a type's name; NumPy would make sense of a list of thousands of fields."""

_SINGLE = ("int", "float", "bool")
_LISTS = ("shape", "floats", "slots", "axis")

DTYPES: Final = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "uint8",
    "int8",
    "int32",
    "int64",
    "bool",
)


def dtype_name(dtype: Any) -> str:
    """The name of an element type, from a name, a NumPy dtype or a NumPy scalar type.

    Raises
    ------
    ArgumentTypeError
        For a type that Ferromix lacks; the message lists those it has.
    """
    if dtype is None:  # NumPy takes it for float64.
        return "float32"
    name = dtype if isinstance(dtype, str) else None
    if name not in DTYPES and (name is None or len(name) <= _LONGEST_DTYPE):
        try:
            found = np.dtype(dtype)
            # The type that arrays of bfloat16 have has a field of that name.
            name = "bfloat16" if found.names == ("bfloat16",) else found.name
        except Exception:  # a user's object may raise anything
            name = None
    if name not in DTYPES:
        raise ArgumentTypeError(f"unknown dtype {brief(dtype)}; known: {', '.join(DTYPES)}")
    return name


@dataclass(frozen=True, slots=True)
class Param:
    """One attribute of an operator.

    Parameters
    ----------
    kind
        ``"int"``, ``"float"``, ``"bool"``, ``"str"``, ``"shape"`` (a tuple of ints), ``"floats"``
        (a tuple of floats), ``"slots"`` (a tuple of ints or None), ``"axis"`` (an int or a tuple of
        ints) or ``"dtype"``.
    default
        The value when none is given, or :data:`REQUIRED`.
    doc
        One sentence for the reference.
    choices
        The allowed words of a ``"str"``.
    low, high
        The allowed range of a number, both ends included.
    optional
        Whether ``None`` is a value.
    dynamic
        Whether an ``"int"`` or ``"float"`` may differ from run to run without a new card: runs
        bring its value, and the kernel reads it then, by ``Attrs::scalar``
        (``rust/kernels/src/api/attrs.rs``).
    most
        The most members that a tuple may have.
    """

    kind: Kind
    default: Any = REQUIRED
    doc: str = ""
    choices: tuple[str, ...] | tuple[bool, ...] = ()
    low: float | None = None
    high: float | None = None
    optional: bool = False
    dynamic: bool = False
    most: int = MOST_AXES

    @property
    def required(self) -> bool:
        """Whether the attribute must be given."""
        return self.default is REQUIRED

    @property
    def none_is_default(self) -> bool:
        """Whether ``None`` leaves the attribute as it is where it is not given: as in MXNet, whose
        lists may be unknown."""
        return self.kind in _LISTS and not self.required and not self.optional

    def parse(self, operator: str, name: str, value: Any) -> Any:
        """The typed value of what a caller or a saved graph gave.

        Raises
        ------
        InvalidArgumentError
            Names the operator, the attribute, the value and what is allowed.
        """
        if (value is None and self.optional) or self._is_as_parsed(value):
            return value
        try:
            parsed = self._convert(value)
        except TooManyError as error:
            raise InvalidArgumentError(
                f"{operator}: attribute '{name}' must be {self.describe()}, got {brief(value)}, "
                f"{error}"
            ) from None
        except OverflowError:
            raise InvalidArgumentError(
                f"{operator}: attribute '{name}' must be {self.describe()}, got {brief(value)}, "
                "which does not fit into 64 bits"
            ) from None
        except (ValueError, TypeError, RecursionError):
            raise InvalidArgumentError(
                f"{operator}: attribute '{name}' must be {self.describe()}, got {brief(value)}"
            ) from None
        self._check(operator, name, parsed)
        return parsed

    def describe(self) -> str:
        """The allowed values in words."""
        if self.choices:
            text = "one of " + ", ".join(repr(c) for c in self.choices)
        else:
            text = {
                "int": "an int",
                "float": "a float",
                "bool": "a bool",
                "str": "a string",
                "shape": "a tuple of ints",
                "floats": "a tuple of floats",
                "slots": "a tuple of ints or None",
                "axis": "an int or a tuple of ints",
                "dtype": "one of " + ", ".join(DTYPES),
            }[self.kind]
        if self.low is not None:
            text += f" >= {_bound(self.low)}"
        if self.high is not None:
            text += f"{' and' if self.low is not None else ''} <= {_bound(self.high)}"
        return text + " or None" if self.optional else text

    @staticmethod
    def format(value: Any) -> str:
        """The spelling of a typed value in MXNet's JSON."""
        if isinstance(value, (tuple, list)):
            body = ", ".join(str(v) for v in value)
            return f"({body},)" if len(value) == 1 else f"({body})"
        return str(value)

    def _is_as_parsed(self, value: Any) -> bool:
        """Whether :meth:`parse` has nothing to do: for most of what other cards hand on."""
        kind = self.kind
        if self.choices or kind not in ("bool", "int", "shape"):
            return False
        if kind == "bool":
            return type(value) is bool
        if kind == "int":
            return type(value) is int and self._holds(value)
        if type(value) is not tuple or len(value) > self.most:
            return False
        return all(type(v) is int and self._holds(v) for v in value)

    def _holds(self, number: int) -> bool:
        low, high = self.low, self.high
        if not (low is None or number >= low) or not (high is None or number <= high):
            return False
        return -(1 << 63) <= number < 1 << 63

    def _convert(self, value: Any) -> Any:
        nothing = value is None or (isinstance(value, str) and value == "None")
        if nothing and (self.optional or self.none_is_default):
            return None
        if self.kind == "str":
            if not isinstance(value, str):
                raise TypeError
            return value
        if self.kind == "dtype":
            return dtype_name(value)
        if isinstance(value, str):
            value = literal(value, self.most)
        if isinstance(value, np.ndarray) and (value.ndim == 0 or self.kind in _SINGLE):
            value = value.item()
        return _CONVERT[self.kind](value, self.most)

    def _check(self, operator: str, name: str, value: Any) -> None:
        if value is None:
            return
        wrong = bool(self.choices) and value not in self.choices
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, (int, float)):
                wrong |= self.low is not None and not number >= self.low
                wrong |= self.high is not None and not number <= self.high
        if wrong:
            raise InvalidArgumentError(
                f"{operator}: attribute '{name}' must be {self.describe()}, got {brief(value)}"
            )


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or value in (0, 1):
        return bool(value)
    raise ValueError


def _maybe(value: Any) -> int | None:
    return None if value is None else integer(value)


def _axis(value: Any, most: int) -> int | tuple[int, ...]:
    alone = not isinstance(value, (Sequence, np.ndarray))
    return integer(value) if alone else members(value, integer, most)


Params = Mapping[str, Param]
"""The attributes of an operator, by name."""

_CONVERT: Final[dict[str, Callable[[Any, int], Any]]] = {
    "int": lambda value, most: integer(value),
    "float": lambda value, most: real(value),
    "bool": lambda value, most: _bool(value),
    "shape": lambda value, most: members(value, integer, most),
    "floats": lambda value, most: members(value, real, most),
    "slots": lambda value, most: members(value, _maybe, most),
    "axis": _axis,
}


def _bound(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
