"""Recipes of the same elements under another shape, and of what tells the shape."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, recipe
from ..recipe_affine import Move, whole
from ..recipe_folds import MAX_RANK, filled, words
from .init import made

__all__: list[str] = []


@recipe("_reshape")
def reshape(job: Job) -> Recipe | None:
    """A copy."""
    return whole(job, Move(((prod(job.outputs[0][0]), 1, 1),)))


@recipe("shape_array", "size_array")
def known(job: Job) -> Recipe | None:
    """Numbers that the shape tells."""
    shape = job.inputs[0][0]
    numbers = shape if job.name == "shape_array" else (prod(shape),)
    if len(numbers) > MAX_RANK or job.outputs[0][1] != "int64":
        return None
    return made(job, "numbers", words(*filled(numbers)))
