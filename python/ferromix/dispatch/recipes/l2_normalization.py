"""The recipe of lines divided by their norms."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Launch, Recipe, input_at, output_at, recipe, req
from ..recipe_folds import along, split

__all__: list[str] = []


@recipe("L2Normalization")
def l2_normalization(job: Job) -> Recipe | None:
    """Whole instances, channels at each position, or all positions of a channel."""
    (shape, dtype), mode = job.inputs[0], job.attrs["mode"]
    if mode == "channel":
        lines = shape[0], shape[1], prod(shape[2:])
    else:
        kept = 1 if mode == "instance" else 2
        lines = prod(shape[:kept]), prod(shape[kept:]), 1
    outer, count, inner = lines
    how = split(job.limits, outer * inner, count, inner)
    given = input_at(0), output_at(0), along(*lines), job.number("eps"), req(0)
    entry = f"l2_normalization_{dtype}"
    return Recipe((Launch("l2_normalization", entry, how.grid, how.block, given),))
