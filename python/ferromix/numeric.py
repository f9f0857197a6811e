"""What functions of two arrays make of two numbers: a number, as in MXNet."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from .error import InvalidArgumentError
from .literal import brief

__all__ = ["of_numbers"]

_MOST_BITS = 1 << 20
"""The size to which powers of ints may grow."""


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and exponent > 0 and base.bit_length() * exponent > _MOST_BITS:
        raise OverflowError(f"more than {_MOST_BITS} bits")
    return base**exponent


def _truth(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], int]:
    return lambda left, right: int(bool(holds(left, right)))


_FUNCTIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "mod": operator.mod,
    "power": _power,
    "hypot": np.hypot,
    "maximum": lambda left, right: left if left > right else right,
    "minimum": lambda left, right: left if left < right else right,
    "equal": _truth(operator.eq),
    "not_equal": _truth(operator.ne),
    "greater": _truth(operator.gt),
    "greater_equal": _truth(operator.ge),
    "lesser": _truth(operator.lt),
    "lesser_equal": _truth(operator.le),
    "logical_and": _truth(lambda left, right: left and right),
    "logical_or": _truth(lambda left, right: left or right),
    "logical_xor": _truth(lambda left, right: bool(left) != bool(right)),
}


def of_numbers(name: str, left: Any, right: Any) -> Any:
    """The result of the function `name` for two numbers, with Python's rules for their types.

    Raises
    ------
    InvalidArgumentError
        Where there is no result, such as the quotient by 0.
    """
    try:
        return _FUNCTIONS[name](left, right)
    except (ArithmeticError, ValueError) as error:
        raise InvalidArgumentError(f"{name} of {brief(left)} and {brief(right)}: {error}") from None
