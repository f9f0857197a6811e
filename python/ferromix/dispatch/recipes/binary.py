"""Recipes of functions of two tensors that broadcast to each other."""

from __future__ import annotations

from ...ops.family import ALL_TYPES, NUMBERS
from ..recipe import Job, Recipe, recipe
from .elemwise import elementwise

__all__: list[str] = []

ARITHMETIC = ["add", "sub", "mul", "div", "mod", "power", "hypot"]
EXTREMES = ["maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]


@recipe(*[f"broadcast_{word}" for word in ARITHMETIC], "_power_slope", "_hypot_slope")
def arithmetic(job: Job) -> Recipe | None:
    """A function of numbers."""
    return binary(job, NUMBERS)


@recipe(*[f"broadcast_{word}" for word in (*EXTREMES, *COMPARISONS, *LOGIC)])
def any_type(job: Job) -> Recipe | None:
    """A function of elements of any type."""
    return binary(job, ALL_TYPES)


def binary(job: Job, types: tuple[str, ...]) -> Recipe | None:
    """One launch."""
    word = job.name.removeprefix("broadcast_").lstrip("_")
    return elementwise(job, "binary", word, inputs=2, types=types)
