"""Recipes of where the largest or smallest element lies."""

from __future__ import annotations

from ..recipe import Job, Launch, Recipe, input_at, recipe, workspace
from ..recipe_folds import axes_of, folded, split
from ..recipe_lines import convert

__all__: list[str] = []


@recipe("argmax", "argmin", "argmax_channel")
def arg(job: Job) -> Recipe | None:
    """Places as integers, then in the type of the output."""
    shape, dtype = job.inputs[0]
    rank = len(shape)
    channel = job.name == "argmax_channel"
    found = folded(shape, [a == 1 for a in range(rank)] if channel else axes_of(job, rank))
    if found is None:
        return None
    how = split(job.limits, found.outputs, found.count, found.side)
    entry = f"arg_{'min' if job.name == 'argmin' else 'max'}_{dtype}"
    search = Launch("arg", entry, how.grid, how.block, (input_at(0), workspace(), found.walk))
    return Recipe((search, convert(job, workspace(), "int64", 0)), temporary=8 * found.outputs)
