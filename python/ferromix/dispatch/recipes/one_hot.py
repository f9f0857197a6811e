"""The recipe of rows in which one element differs."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, int64, output_at, recipe, req
from ..recipe_indices import OUTSIDE, places

__all__: list[str] = []


@recipe("one_hot")
def one_hot(job: Job) -> Recipe | None:
    """A row for each index."""
    count, depth = prod(job.inputs[0][0]), job.attrs["depth"]
    find = places(job, 0, [depth], OUTSIDE["raise"])
    numbers = int64(count), int64(depth), job.number("on_value"), job.number("off_value")
    entry = f"one_hot_{job.outputs[0][1]}"
    given = find.args[1], output_at(0), *numbers, req(0)
    launch = job.spread("one_hot", entry, count * depth, *given)
    return Recipe((find, launch), temporary=8 * count)
