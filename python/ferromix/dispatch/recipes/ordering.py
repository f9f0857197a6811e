"""Recipes of elements in order, where shared memory holds a line."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import words
from ..recipe_lines import convert, lines_of

__all__: list[str] = []

LONGEST = 2048
"""Elements of a line that shared memory holds."""


@recipe("sort")
def sort(job: Job) -> Recipe | None:
    """All elements."""
    return ordered(job, 0, values=0)


@recipe("argsort")
def argsort(job: Job) -> Recipe | None:
    """Their places."""
    return ordered(job, 0, places=0)


@recipe("topk")
def topk(job: Job) -> Recipe | None:
    """Those that come first, their places, or a mask of them."""
    kind, first = job.attrs["ret_typ"], job.attrs["k"]
    if kind == "both":
        return ordered(job, first, values=0, places=1)
    word = {"value": "values", "indices": "places", "mask": "mask"}[kind]
    return ordered(job, first, **{word: 0})


def ordered(
    job: Job,
    first: int,
    values: int | None = None,
    places: int | None = None,
    mask: int | None = None,
) -> Recipe | None:
    """A block for each line; the numbers are those of the outputs."""
    shape, dtype = job.inputs[0]
    outer, count, inner = lines_of(shape, job.attrs["axis"])
    if count > LONGEST:
        return None
    most = count if first < 1 else first
    numbers = outer, count, inner, most, not job.attrs["is_ascend"]
    ends = [nothing() if k is None else output_at(k) for k in (values, mask)]
    reqs = [int32(0) if k is None else req(k) for k in (values, mask)]
    found = nothing() if places is None else workspace()
    args = input_at(0), ends[0], found, ends[1], words(*numbers), *reqs
    grid, block = (job.blocks(outer * inner, 1), 1, 1), (job.limits.threads, 1, 1)
    launch = Launch("ordering", f"ordering_{dtype}", grid, block, args)
    if places is None:
        return Recipe((launch,))
    last = convert(job, workspace(), "int64", places)
    return Recipe((launch, last), temporary=8 * prod(job.outputs[places][0]))
