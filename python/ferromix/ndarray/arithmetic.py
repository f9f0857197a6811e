"""Arithmetic and comparison between arrays and numbers, as functions and for the operators.

Two arrays broadcast against each other; a number takes the array's element type. Comparisons give
0 and 1 in the element type of the operands, as MXNet does. Of two numbers the functions
make a number.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..dispatch import cpu as dispatch
from ..error import ArgumentTypeError
from ..literal import factor
from ..numeric import of_numbers
from ..ops.card import make
from . import ndarray as arrays

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = [
    "add",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "install",
    "is_operand",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "not_equal",
    "power",
    "subtract",
    "true_divide",
]

# name: operators for (array, array), (array, number), (number, array)
_OPERATORS = {
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "sub": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "div": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": ("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "power": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "not_equal": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": (
        "broadcast_greater_equal",
        "_greater_equal_scalar",
        "_lesser_equal_scalar",
    ),
    "lesser": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "lesser_equal": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "logical_and": ("broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar"),
    "logical_or": ("broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar"),
    "logical_xor": ("broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"),
}


def is_operand(value: object) -> bool:
    """Whether arithmetic with arrays takes `value`: an array or a real number."""
    return isinstance(value, (arrays.NDArray, numbers.Real, np.bool_))


def _is_compared(value: object) -> bool:
    """Whether ``array == value`` is more than False: so that no mix of kinds compares silently."""
    return is_operand(value) or isinstance(value, (np.ndarray, list, tuple))


def _apply(name: str, lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
    both, scalar_right, scalar_left = _OPERATORS[name]
    left, right = isinstance(lhs, arrays.NDArray), isinstance(rhs, arrays.NDArray)
    if left and right:
        return arrays.invoke(make(both, {}), [lhs, rhs], out)[0]
    for operand in (lhs, rhs):
        if not is_operand(operand):
            raise ArgumentTypeError(
                f"{both}: an operand must be an NDArray or a number, "
                f"got {type(operand).__name__}; convert it by ferromix.nd.array"
            )
    if left:
        return arrays.invoke(make(scalar_right, {"scalar": factor(both, rhs)}), [lhs], out)[0]
    if right:
        return arrays.invoke(make(scalar_left, {"scalar": factor(both, lhs)}), [rhs], out)[0]
    return of_numbers(name, lhs, rhs)


def _scalar_call(name: str, number: float, reflected: bool) -> _core.Call:
    card = _OPERATORS[name][2 if reflected else 1]
    return dispatch.call(make(card, {"scalar": number}))


def install(cls: type[NDArray]) -> None:
    """Tells the core's operators, which `cls` inherits, what they mean."""
    names = {name: cards[0] for name, cards in _OPERATORS.items()}
    names |= {"negative": "negative", "abs": "abs"}
    calls = {name: dispatch.call(make(card, {})) for name, card in names.items()}
    _core.set_arithmetic(cls, _apply, _is_compared, _scalar_call, calls)


def add(lhs: Any, rhs: Any) -> Any:
    """`lhs + rhs`, element by element."""
    return _core.operate("add", lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> Any:
    """`lhs - rhs`, element by element."""
    return _core.operate("sub", lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> Any:
    """`lhs * rhs`, element by element."""
    return _core.operate("mul", lhs, rhs)


def divide(lhs: Any, rhs: Any) -> Any:
    """`lhs / rhs`, element by element, in the element type of the operands."""
    return _core.operate("div", lhs, rhs)


true_divide = divide


def modulo(lhs: Any, rhs: Any) -> Any:
    """`lhs % rhs`, element by element, with the sign of `rhs`."""
    return _core.operate("mod", lhs, rhs)


def power(base: Any, exp: Any) -> Any:
    """`base ** exp`, element by element."""
    return _core.operate("power", base, exp)


def maximum(lhs: Any, rhs: Any) -> Any:
    """The larger of both, element by element."""
    return _core.operate("maximum", lhs, rhs)


def minimum(lhs: Any, rhs: Any) -> Any:
    """The smaller of both, element by element."""
    return _core.operate("minimum", lhs, rhs)


def equal(lhs: Any, rhs: Any) -> Any:
    """1 where both are equal, otherwise 0."""
    return _core.operate("equal", lhs, rhs)


def not_equal(lhs: Any, rhs: Any) -> Any:
    """1 where both differ, otherwise 0."""
    return _core.operate("not_equal", lhs, rhs)


def greater(lhs: Any, rhs: Any) -> Any:
    """1 where `lhs > rhs`, otherwise 0."""
    return _core.operate("greater", lhs, rhs)


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """1 where `lhs >= rhs`, otherwise 0."""
    return _core.operate("greater_equal", lhs, rhs)


def lesser(lhs: Any, rhs: Any) -> Any:
    """1 where `lhs < rhs`, otherwise 0."""
    return _core.operate("lesser", lhs, rhs)


def lesser_equal(lhs: Any, rhs: Any) -> Any:
    """1 where `lhs <= rhs`, otherwise 0."""
    return _core.operate("lesser_equal", lhs, rhs)


def logical_and(lhs: Any, rhs: Any) -> Any:
    """1 where neither is 0, otherwise 0."""
    return _core.operate("logical_and", lhs, rhs)


def logical_or(lhs: Any, rhs: Any) -> Any:
    """1 where one of both is not 0, otherwise 0."""
    return _core.operate("logical_or", lhs, rhs)


def logical_xor(lhs: Any, rhs: Any) -> Any:
    """1 where exactly one of both is 0, otherwise 0."""
    return _core.operate("logical_xor", lhs, rhs)
