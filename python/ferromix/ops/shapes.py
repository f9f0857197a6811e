"""Arithmetic of partial shapes, shared by the shape inference of the families.

An extent of -1 is one that is not known yet; a shape of None has not even a known rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..error import InvalidArgumentError
from ..literal import brief
from .card import MaybeShape, Shape

__all__ = [
    "broadcast",
    "count",
    "is_known",
    "normal_axes",
    "normal_axis",
    "require_countable",
    "require_rank",
    "spatial",
]

_MOST_ELEMENTS = (1 << 63) - 1


def is_known(shape: MaybeShape) -> bool:
    """Whether rank and all extents are known."""
    return shape is not None and (not shape or min(shape) >= 0)


def count(shape: Sequence[int]) -> int:
    """The number of elements, or -1 where an extent is unknown."""
    if 0 in shape:
        return 0
    total = 1
    for n in shape:
        if n < 0:
            return -1
        total *= n
    return total


def normal_axis(operator: str, axis: int, rank: int) -> int:
    """`axis` counted from the front.

    Raises
    ------
    InvalidArgumentError
        For an axis that a tensor of that rank lacks.
    """
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            f"{operator}: axis {axis} does not exist in a tensor of {rank} dimensions; "
            f"allowed: {-rank} to {rank - 1}"
        )
    return axis % rank


def normal_axes(operator: str, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front, in the order given.

    Raises
    ------
    InvalidArgumentError
        For an axis that does not exist, or one given twice.
    """
    found = tuple(normal_axis(operator, a, rank) for a in axes)
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"{operator}: an axis is given twice in {brief(tuple(axes))}")
    return found


def broadcast(operator: str, names: tuple[str, str], a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """The shape to which two shapes broadcast under NumPy's rule.

    Raises
    ------
    InvalidArgumentError
        Shapes that do not fit, naming the operator, the arguments and both shapes.
    """
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    left = (1,) * (rank - len(a)) + a
    right = (1,) * (rank - len(b)) + b
    out: list[int] = []
    for axis, (x, y) in enumerate(zip(left, right, strict=True), -rank):
        if x == y or y == 1:
            out.append(x)
        elif x == 1 or x < 0:
            out.append(y)
        elif y < 0:
            out.append(x)
        else:
            raise InvalidArgumentError(
                f"{operator}: argument '{names[1]}' of shape {b} does not broadcast with "
                f"'{names[0]}' of shape {a}: axis {axis} has {y} and {x}; extents must be "
                "equal or 1"
            )
    return tuple(out)


def require_countable(operator: str, output: str, shape: Sequence[int]) -> None:
    """Checks that 64 bits can count the elements of an output.

    Raises
    ------
    InvalidArgumentError
        For more, naming the operator, the output and its shape.
    """
    if not shape or (min(shape) >= 0 and prod(shape) <= _MOST_ELEMENTS >= max(shape)):
        return
    if max(shape, default=0) > _MOST_ELEMENTS or count(shape) > _MOST_ELEMENTS:
        raise InvalidArgumentError(
            f"{operator}: '{output}' would have the shape {brief(tuple(shape))}, which is more "
            "elements than 64 bits can count"
        )


def require_rank(operator: str, argument: str, shape: Shape, rank: int, what: str) -> None:
    """Checks the number of dimensions.

    Raises
    ------
    InvalidArgumentError
        For another rank, naming the operator, the argument, its shape and what is expected.
    """
    if len(shape) != rank:
        raise InvalidArgumentError(
            f"{operator}: argument '{argument}' has shape {shape}, expected {rank} dimensions "
            f"({what})"
        )


def spatial(operator: str, name: str, given: Shape, rank: int, fill: int, low: int) -> Shape:
    """A per-dimension attribute of a convolution or a pooling, filled where it is empty.

    Raises
    ------
    InvalidArgumentError
        For a tuple of another length than the kernel, or a number below `low`.
    """
    if not given:
        return (fill,) * rank
    if len(given) != rank or min(given) < low:
        raise InvalidArgumentError(
            f"{operator}: attribute '{name}' must be {rank} ints >= {low}, one for each "
            f"dimension of the kernel, got {given}"
        )
    return given
