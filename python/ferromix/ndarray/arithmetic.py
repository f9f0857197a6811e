"""Arithmetic and comparison between arrays and numbers, as functions and for the operators.

Two arrays broadcast against each other; a number takes the array's element type. Comparisons give
0 and 1 in the element type of the operands, as MXNet does. Of two numbers the functions
make a number.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, dispatch
from ..error import ArgumentTypeError
from ..literal import factor
from ..numeric import of_numbers
from ..ops.card import make
from ..ops.infix import INFIX
from . import ndarray as arrays

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = [
    "add",
    "apply",
    "apply_alone",
    "calls",
    "compares",
    "divide",
    "equal",
    "greater",
    "greater_equal",
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
    "scalar_call",
    "subtract",
    "true_divide",
]


def is_operand(value: object) -> bool:
    """Whether arithmetic with arrays takes `value`: an array or a real number."""
    return isinstance(value, (arrays.NDArray, numbers.Real, np.bool_))


def compares(value: object) -> bool:
    """Whether ``array == value`` is more than False: so that no mix of kinds compares silently."""
    return is_operand(value) or isinstance(value, (np.ndarray, list, tuple))


def apply(name: str, lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
    """An operator on operands that the core leaves to Python, or the error for them."""
    both, right_card, left_card = INFIX[name].broadcast, INFIX[name].right, INFIX[name].left
    left, right = isinstance(lhs, arrays.NDArray), isinstance(rhs, arrays.NDArray)
    if left and right:
        if lhs.shape == rhs.shape:  # one is sparse, and operators of equal shapes keep that
            both = INFIX[name].same
        return arrays.invoke(make(both, {}), [lhs, rhs], out)[0]
    for operand in (lhs, rhs):
        if not is_operand(operand):
            raise ArgumentTypeError(
                f"{both}: an operand must be an NDArray or a number, "
                f"got {type(operand).__name__}; convert it by ferromix.nd.array"
            )
    if left:
        return arrays.invoke(make(right_card, {"scalar": factor(both, rhs)}), [lhs], out)[0]
    if right:
        return arrays.invoke(make(left_card, {"scalar": factor(both, lhs)}), [rhs], out)[0]
    return of_numbers(name, lhs, rhs)


def apply_alone(name: str, array: NDArray) -> NDArray:
    """``-array`` or ``abs(array)`` where that is sparse."""
    return arrays.invoke(make(name, {}), [array])[0]


def scalar_call(name: str, number: float, reflected: bool) -> _core.Call:
    """The call of an operator with a number on its right, or on its left if `reflected`."""
    card = INFIX[name].left if reflected else INFIX[name].right
    return dispatch.call(make(card, {"scalar": number}))


def calls() -> dict[str, _core.Call]:
    """The calls of the operators of one or two arrays, by name."""
    names = {name: cards.broadcast for name, cards in INFIX.items()}
    names |= {"negative": "negative", "abs": "abs"}
    return {name: dispatch.call(make(card, {})) for name, card in names.items()}


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
