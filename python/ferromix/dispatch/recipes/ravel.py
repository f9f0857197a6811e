"""Recipes of indices of several axes as one number, and back."""

from __future__ import annotations

from ...ops.family import NUMBERS
from ..recipe import Job, Recipe, input_at, output_at, recipe, req
from ..recipe_folds import MAX_RANK, filled, words

__all__: list[str] = []

ENTRIES = {"_ravel_multi_index": "flat", "_unravel_index": "indices"}


@recipe(*ENTRIES)
def ravel(job: Job) -> Recipe | None:
    """A thread for each number."""
    (_, dtype), (shape, to), extents = job.inputs[0], job.outputs[0], job.attrs["shape"]
    if dtype != to or dtype not in NUMBERS or len(extents) > MAX_RANK:
        return None
    count, word = shape[-1], ENTRIES[job.name]
    axes = words(count, len(extents), *filled(extents))
    given = input_at(0), output_at(0), axes, req(0)
    return Recipe((job.spread("ravel", f"ravel_{word}_{dtype}", count, *given),))
