"""Typed attributes of operators: parsing, checking and MXNet's spelling of each.

An attribute comes from Python (a number, a tuple) or from a saved graph, where everything is a
string such as ``"(2, 2)"``. Both ways lead through :meth:`Param.parse`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from ..error import InvalidArgumentError

__all__ = ["REQUIRED", "Kind", "Param", "Params", "dtype_name"]

Kind = Literal["int", "float", "bool", "str", "shape", "floats", "slots", "axis", "dtype"]


class _Required:
    """The default of an attribute that must be given."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()

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
    InvalidArgumentError
        For a type that Ferromix lacks; the message lists those it has.
    """
    if dtype is float:
        return "float32"
    name = dtype if isinstance(dtype, str) else None
    if name not in DTYPES:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            name = str(dtype)
    if name not in DTYPES:
        raise InvalidArgumentError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
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
        (``rust/kernels/src/attrs.rs``).
    """

    kind: Kind
    default: Any = REQUIRED
    doc: str = ""
    choices: tuple[str, ...] | tuple[bool, ...] = ()
    low: float | None = None
    high: float | None = None
    optional: bool = False
    dynamic: bool = False

    @property
    def required(self) -> bool:
        """Whether the attribute must be given."""
        return self.default is REQUIRED

    def parse(self, operator: str, name: str, value: Any) -> Any:
        """The typed value of what a caller or a saved graph gave.

        Raises
        ------
        InvalidArgumentError
            Names the operator, the attribute, the value and what is allowed.
        """
        try:
            parsed = self._convert(value)
        except (ValueError, TypeError, SyntaxError, KeyError, OverflowError):
            raise InvalidArgumentError(
                f"{operator}: attribute '{name}' must be {self.describe()}, got {value!r}"
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
            text += f" >= {self.low:g}"
        if self.high is not None:
            text += f"{' and' if self.low is not None else ''} <= {self.high:g}"
        return text + " or None" if self.optional else text

    @staticmethod
    def format(value: Any) -> str:
        """The spelling of a typed value in MXNet's JSON."""
        if isinstance(value, (tuple, list)):
            body = ", ".join(str(v) for v in value)
            return f"({body},)" if len(value) == 1 else f"({body})"
        return str(value)

    def _convert(self, value: Any) -> Any:
        if self.optional and (value is None or value == "None"):
            return None
        if self.kind == "str":
            if not isinstance(value, str):
                raise TypeError
            return value
        if self.kind == "dtype":
            return dtype_name(value)
        if isinstance(value, str):
            value = _literal(value)
        if isinstance(value, np.ndarray) and self.kind in ("int", "float", "bool"):
            value = value.item()
        return _CONVERT[self.kind](value)

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
                f"{operator}: attribute '{name}' must be {self.describe()}, got {value!r}"
            )


def _literal(text: str) -> Any:
    """A Python literal; saved graphs of Python 2 spell ints as ``3L``, and bools in lower case."""
    text = re.sub(r"(?<=\d)L\b", "", text.strip())
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("inf", "-inf", "nan"):
        return float(text)
    return ast.literal_eval(text)


def _int(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    return int(value)


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or value in (0, 1):
        return bool(value)
    raise ValueError


def _ints(value: Any) -> tuple[int, ...]:
    if isinstance(value, (int, np.integer)):
        return (int(value),)
    if not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError
    return tuple(_int(v) for v in value)


def _floats(value: Any) -> tuple[float, ...]:
    if isinstance(value, (int, float, np.integer, np.floating)):
        return (float(value),)
    if not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError
    return tuple(float(v) for v in value)


def _slots(value: Any) -> tuple[int | None, ...]:
    members = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(None if v is None else _int(v) for v in members)


def _axis(value: Any) -> int | tuple[int, ...]:
    return int(value) if isinstance(value, (int, np.integer)) else _ints(value)


Params = Mapping[str, Param]
"""The attributes of an operator, by name."""

_CONVERT = {
    "int": _int,
    "float": float,
    "bool": _bool,
    "shape": _ints,
    "floats": _floats,
    "slots": _slots,
    "axis": _axis,
}
