"""Recipes of functions of a tensor and a number."""

from __future__ import annotations

from math import prod

from ...ops.family import ALL_TYPES, NUMBERS
from ..recipe import WRITE, Job, Recipe, input_at, output_at, recipe, req, workspace
from ..recipe_folds import WIDEST, flat_walk
from .binary import ARITHMETIC, COMPARISONS, EXTREMES, LOGIC
from .elemwise import elementwise

__all__: list[str] = []

NUMERIC = ["plus", "minus", "rminus", "rdiv", "rmod", "rpower", "power_slope", "hypot_slope"]
SHARED = [word for word in ARITHMETIC if word not in ("add", "sub")]


@recipe(*[f"_{word}_scalar" for word in (*NUMERIC, *SHARED)])
def arithmetic(job: Job) -> Recipe | None:
    """A function of numbers."""
    return scalar(job, NUMBERS)


@recipe(*[f"_{word}_scalar" for word in (*EXTREMES, *COMPARISONS, *LOGIC)])
def any_type(job: Job) -> Recipe | None:
    """A function of elements of any type."""
    return scalar(job, ALL_TYPES)


def scalar(job: Job, types: tuple[str, ...]) -> Recipe | None:
    """One launch; where the result has another type than the data, these are converted before."""
    word = job.name.removesuffix("_scalar").lstrip("_")
    (shape, source), (_, target) = job.inputs[0], job.outputs[0]
    if source == target:
        return elementwise(job, "scalar", word, job.number("scalar"), types=types)
    if source not in ALL_TYPES or target not in types:
        return None
    converted = workspace()
    to = f"elemwise_Cast_{source}_{target}"
    count = prod(shape)
    flat = flat_walk(count)
    first = job.spread("elemwise", to, count, input_at(0), converted, flat, WRITE)
    given = converted, output_at(0), job.number("scalar"), flat, req(0)
    second = job.spread("scalar", f"scalar_{word}_{target}", count, *given)
    return Recipe((first, second), temporary=count * WIDEST)
