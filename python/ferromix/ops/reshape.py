"""MXNet's little language of target shapes, with its codes 0, -1, -2, -3 and -4."""

from __future__ import annotations

from collections.abc import Sequence

from ..error import InvalidArgumentError
from .card import MaybeShape, Shape
from .shapes import count, is_known

__all__ = ["legacy_target", "reshape_target"]


def reshape_target(
    operator: str, shape: MaybeShape, codes: Shape, reverse: bool = False
) -> MaybeShape:
    """The shape that `codes` make of `shape`, as far as it is known.

    Raises
    ------
    InvalidArgumentError
        Codes that are malformed, or another number of elements; the message has both shapes.
    """
    if shape is None:
        return codes if all(c > 0 for c in codes) else None
    tokens = _tokens(operator, codes)
    if reverse:
        tokens = [(t[0], *reversed(t[1:])) for t in reversed(tokens)]
        shape = shape[::-1]
    out = _fill(shape, _apply(operator, shape, tokens, codes))
    if (is_known(shape) and is_known(out) and count(shape) != count(out)) or _FREE in out:
        order = slice(None, None, -1 if reverse else 1)
        raise InvalidArgumentError(
            f"{operator}: argument 'data' of shape {shape[order]} has {count(shape)} elements and "
            f"cannot take shape={codes}"
        )
    return out[::-1] if reverse else out


_FREE = -5
"""Marks the extent of code -1 until the others are known."""


def _tokens(operator: str, codes: Shape) -> list[tuple[int, ...]]:
    tokens: list[tuple[int, ...]] = []
    i = 0
    while i < len(codes):
        width = 3 if codes[i] == -4 else 1
        tokens.append(codes[i : i + width])
        i += width
    split = [t for t in tokens if t[0] == -4]
    if any(len(t) != 3 or min(t[1:]) < -1 or t[1:] == (-1, -1) for t in split):
        raise InvalidArgumentError(
            f"{operator}: in shape={codes}, two numbers must follow -4, one of which may be -1"
        )
    if sum(t[0] == -1 for t in tokens) > 1:
        raise InvalidArgumentError(f"{operator}: shape={codes} has more than one -1")
    return tokens


def _apply(
    operator: str, shape: Shape, tokens: Sequence[tuple[int, ...]], codes: Shape
) -> list[int]:
    out: list[int] = []
    used = 0

    def take(n: int) -> Shape:
        nonlocal used
        used += n
        if used > len(shape):
            raise InvalidArgumentError(
                f"{operator}: shape={codes} copies more extents than argument 'data' of shape "
                f"{shape} has"
            )
        return shape[used - n : used]

    for token in tokens:
        code = token[0]
        if code == 0:
            out += take(1)
        elif code == -2:
            out += take(len(shape) - used)
        elif code == -3:
            out.append(count(take(2)))
        elif code == -4:
            out += _split(operator, take(1)[0], token[1], token[2])
        else:
            out.append(code if code > 0 else _FREE)
            used += used < len(shape)
    return out


def _split(operator: str, extent: int, a: int, b: int) -> tuple[int, int]:
    if extent >= 0 and a < 0 < b and extent % b == 0:
        a = extent // b
    elif extent >= 0 and b < 0 < a and extent % a == 0:
        b = extent // a
    if extent >= 0 and (min(a, b) < 0 or a * b != extent):
        raise InvalidArgumentError(
            f"{operator}: an extent of {extent} cannot be split into {a} and {b}"
        )
    return a, b


def _fill(shape: Shape, out: list[int]) -> Shape:
    """`out` with the extent of code -1 computed; it stays marked where there is none."""
    if _FREE not in out:
        return tuple(out)
    rest = count([n for n in out if n != _FREE])
    total = count(shape)
    if rest < 0 or total < 0:
        value = -1
    elif rest == 0 or total % rest:
        value = 0 if total == rest == 0 else _FREE
    else:
        value = total // rest
    return tuple(value if n == _FREE else n for n in out)


def legacy_target(
    operator: str, shape: MaybeShape, target: Shape, keep_highest: bool
) -> MaybeShape:
    """The shape of the older attribute ``target_shape``, in which one 0 is what fits."""
    if shape is None:
        return None
    codes = tuple(n or -1 for n in target)
    if keep_highest and shape:
        codes = (0, *codes[1:])
    return reshape_target(operator, shape, codes)
