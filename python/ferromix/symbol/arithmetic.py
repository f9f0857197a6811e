"""Python's operators on symbols, and the operators of MXNet that they stand for."""

from __future__ import annotations

import numbers
from typing import Any, NoReturn, Self

import numpy as np

from ..error import DTypeError, UnknownTruthError
from ..literal import factor
from ..ops.infix import INFIX

__all__ = ["Arithmetic", "is_scalar"]


COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")


def is_scalar(value: Any) -> bool:
    """Whether `value` is one number."""
    return isinstance(value, (numbers.Number, np.generic)) and not isinstance(value, complex)


def _number(operation: str, number: Any) -> float:
    """The number of an operation, an int as an int: graphs spell it so."""
    found = factor(operation, number)
    whole = isinstance(number, numbers.Integral) and not isinstance(number, bool)
    return int(number) if whole else found


class Arithmetic:
    """The operators of a symbol; the class that inherits them says how a node is made."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def _make(self, op: str, inputs: list[Any], attrs: dict[str, Any], hint: str) -> Self:
        """The output of a new node."""
        raise NotImplementedError

    def _binary(self, name: str, other: Any, reflected: bool = False) -> Self:
        """The operator of :data:`INFIX` on this one and `other`, which is first if `reflected`."""
        names = INFIX[name]
        if isinstance(other, Arithmetic):
            pair = [other, self] if reflected else [self, other]
            return self._make(names.same, pair, {}, names.hint)
        if not is_scalar(other):
            raise DTypeError(
                f"operator {names.sign} of a symbol takes a symbol or a number, got {type(other)}"
            )
        op = names.left if reflected else names.right
        hint = op if name in COMPARISONS else op.replace("_scalar", "scalar")
        return self._make(op, [self], {"scalar": _number(op, other)}, hint)

    def __add__(self, other: Any) -> Self:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Self:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Self:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Self:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Self:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Self:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Self:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._binary("div", other, True)

    def __mod__(self, other: Any) -> Self:
        return self._binary("mod", other)

    def __rmod__(self, other: Any) -> Self:
        return self._binary("mod", other, True)

    def __pow__(self, other: Any) -> Self:
        return self._binary("power", other)

    def __rpow__(self, other: Any) -> Self:
        if is_scalar(other):  # Only here MXNet's automatic name keeps the underscore.
            number = _number("_rpower_scalar", other)
            return self._make("_rpower_scalar", [self], {"scalar": number}, "_rpower_scalar")
        return self._binary("power", other, True)

    def __neg__(self) -> Self:
        return self._binary("mul", -1.0)

    def __abs__(self) -> Self:
        return self._make("abs", [self], {}, "abs")

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic) and not is_scalar(other):
            return NotImplemented
        return self._binary("equal", other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic) and not is_scalar(other):
            return NotImplemented
        return self._binary("not_equal", other)

    def __gt__(self, other: Any) -> Self:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Self:
        return self._binary("greater_equal", other)

    def __lt__(self, other: Any) -> Self:
        return self._binary("lesser", other)

    def __le__(self, other: Any) -> Self:
        return self._binary("lesser_equal", other)

    def __hash__(self) -> int:
        return id(self) // 16

    def __bool__(self) -> NoReturn:
        raise UnknownTruthError("__bool__", "bool")
