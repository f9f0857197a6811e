"""The operators that Python's signs, and functions such as ``maximum``, stand for.

Arrays, symbols and the terms of rules read the same table.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["INFIX", "Infix"]


class Infix(NamedTuple):
    """The operators behind a sign or a function of two operands.

    Attributes
    ----------
    sign
        As Python writes it, for messages.
    same
        Of two values of one shape.
    broadcast
        Of two values whose shapes may differ.
    right, left
        Of a value and a number on its right, or on its left.
    hint
        The stem of a symbol's automatic name.
    """

    sign: str
    same: str
    broadcast: str
    right: str
    left: str
    hint: str


def _arithmetic(sign: str, name: str, stem: str, *, commutes: bool = False) -> Infix:
    left = stem if commutes else f"r{stem}"
    same = f"elemwise_{name}" if name in ("add", "sub", "mul", "div") else f"_{name}"
    return Infix(sign, same, f"broadcast_{name}", f"_{stem}_scalar", f"_{left}_scalar", f"_{stem}")


def _comparison(sign: str, name: str, mirrored: str) -> Infix:
    return Infix(
        sign,
        f"_{name}",
        f"broadcast_{name}",
        f"_{name}_scalar",
        f"_{mirrored}_scalar",
        f"_{name}",
    )


INFIX: Final[dict[str, Infix]] = {
    "add": _arithmetic("+", "add", "plus", commutes=True),
    "sub": _arithmetic("-", "sub", "minus"),
    "mul": _arithmetic("*", "mul", "mul", commutes=True),
    "div": _arithmetic("/", "div", "div"),
    "mod": _arithmetic("%", "mod", "mod"),
    "power": _arithmetic("**", "power", "power"),
    "maximum": _arithmetic("maximum", "maximum", "maximum", commutes=True),
    "minimum": _arithmetic("minimum", "minimum", "minimum", commutes=True),
    "hypot": _arithmetic("hypot", "hypot", "hypot", commutes=True),
    "logical_and": _arithmetic("logical_and", "logical_and", "logical_and", commutes=True),
    "logical_or": _arithmetic("logical_or", "logical_or", "logical_or", commutes=True),
    "logical_xor": _arithmetic("logical_xor", "logical_xor", "logical_xor", commutes=True),
    "equal": _comparison("==", "equal", "equal"),
    "not_equal": _comparison("!=", "not_equal", "not_equal"),
    "greater": _comparison(">", "greater", "lesser"),
    "greater_equal": _comparison(">=", "greater_equal", "lesser_equal"),
    "lesser": _comparison("<", "lesser", "greater"),
    "lesser_equal": _comparison("<=", "lesser_equal", "greater_equal"),
}
