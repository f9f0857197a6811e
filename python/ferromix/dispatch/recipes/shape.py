"""The recipe of the same elements under another shape."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, recipe
from ..recipe_affine import Move, whole

__all__: list[str] = []


@recipe("_reshape")
def reshape(job: Job) -> Recipe | None:
    """A copy."""
    return whole(job, Move(((prod(job.outputs[0][0]), 1, 1),)))
