"""Python's operators on symbols, and the operators of MXNet that they stand for."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from ..error import DTypeError, InvalidArgumentError
from ..literal import factor

__all__ = ["BINARY", "Arithmetic", "Names", "is_scalar"]


class Names(NamedTuple):
    """The operators behind one sign: of two symbols, with a scalar at the right, at the left.

    `hint` is the stem of the automatic name, to which ``scalar`` is appended for a scalar.
    """

    both: str
    right: str
    left: str
    hint: str


BINARY = {
    "+": Names("elemwise_add", "_plus_scalar", "_plus_scalar", "_plus"),
    "-": Names("elemwise_sub", "_minus_scalar", "_rminus_scalar", "_minus"),
    "*": Names("elemwise_mul", "_mul_scalar", "_mul_scalar", "_mul"),
    "/": Names("elemwise_div", "_div_scalar", "_rdiv_scalar", "_div"),
    "%": Names("_mod", "_mod_scalar", "_rmod_scalar", "_mod"),
    "**": Names("_power", "_power_scalar", "_rpower_scalar", "_power"),
    "max": Names("_maximum", "_maximum_scalar", "_maximum_scalar", "_maximum"),
    "min": Names("_minimum", "_minimum_scalar", "_minimum_scalar", "_minimum"),
    "hypot": Names("_hypot", "_hypot_scalar", "_hypot_scalar", "_hypot"),
    "==": Names("_equal", "_equal_scalar", "_equal_scalar", "_equal"),
    "!=": Names("_not_equal", "_not_equal_scalar", "_not_equal_scalar", "_not_equal"),
    ">": Names("_greater", "_greater_scalar", "_lesser_scalar", "_greater"),
    ">=": Names(
        "_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar", "_greater_equal"
    ),
    "<": Names("_lesser", "_lesser_scalar", "_greater_scalar", "_lesser"),
    "<=": Names("_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar", "_lesser_equal"),
}
COMPARISONS = ("==", "!=", ">", ">=", "<", "<=")


def is_scalar(value: Any) -> bool:
    """Whether `value` is one number."""
    return isinstance(value, (numbers.Number, np.generic)) and not isinstance(value, complex)


class Arithmetic:
    """The operators of a symbol; the class that inherits them says how a node is made."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def _make(self, op: str, inputs: list[Any], attrs: dict[str, Any], hint: str) -> Self:
        """The output of a new node."""
        raise NotImplementedError

    def _binary(self, sign: str, other: Any, reflected: bool = False) -> Self:
        """``self sign other``, or ``other sign self`` where `reflected`."""
        names = BINARY[sign]
        if isinstance(other, Arithmetic):
            pair = [other, self] if reflected else [self, other]
            return self._make(names.both, pair, {}, names.hint)
        if not is_scalar(other):
            raise DTypeError(
                f"operator {sign} of a symbol takes a symbol or a number, got {type(other)}"
            )
        op = names.left if reflected else names.right
        hint = op if sign in COMPARISONS else op.replace("_scalar", "scalar")
        return self._make(op, [self], {"scalar": factor(op, other)}, hint)

    def __add__(self, other: Any) -> Self:
        return self._binary("+", other)

    def __radd__(self, other: Any) -> Self:
        return self._binary("+", other, True)

    def __sub__(self, other: Any) -> Self:
        return self._binary("-", other)

    def __rsub__(self, other: Any) -> Self:
        return self._binary("-", other, True)

    def __mul__(self, other: Any) -> Self:
        return self._binary("*", other)

    def __rmul__(self, other: Any) -> Self:
        return self._binary("*", other, True)

    def __truediv__(self, other: Any) -> Self:
        return self._binary("/", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._binary("/", other, True)

    def __mod__(self, other: Any) -> Self:
        return self._binary("%", other)

    def __rmod__(self, other: Any) -> Self:
        return self._binary("%", other, True)

    def __pow__(self, other: Any) -> Self:
        return self._binary("**", other)

    def __rpow__(self, other: Any) -> Self:
        if is_scalar(other):  # Only here MXNet's automatic name keeps the underscore.
            number = factor("_rpower_scalar", other)
            return self._make("_rpower_scalar", [self], {"scalar": number}, "_rpower_scalar")
        return self._binary("**", other, True)

    def __neg__(self) -> Self:
        return self._binary("*", -1.0)

    def __abs__(self) -> Self:
        return self._make("abs", [self], {}, "abs")

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic) and not is_scalar(other):
            return NotImplemented
        return self._binary("==", other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic) and not is_scalar(other):
            return NotImplemented
        return self._binary("!=", other)

    def __gt__(self, other: Any) -> Self:
        return self._binary(">", other)

    def __ge__(self, other: Any) -> Self:
        return self._binary(">=", other)

    def __lt__(self, other: Any) -> Self:
        return self._binary("<", other)

    def __le__(self, other: Any) -> Self:
        return self._binary("<=", other)

    def __hash__(self) -> int:
        return id(self) // 16

    def __bool__(self) -> NoReturn:
        raise InvalidArgumentError(
            "the truth of a symbol is not known before it is computed; use 'is None' to test for "
            "a missing one, and operators such as mx.sym.where to choose between values"
        )
