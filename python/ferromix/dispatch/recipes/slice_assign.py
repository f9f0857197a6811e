"""Recipes of values put into ranges of indices."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Recipe,
    float64,
    input_at,
    nothing,
    output_at,
    recipe,
    req,
)
from ..recipe_folds import MAX_RANK, filled, words

__all__: list[str] = []


def along(job: Job, axis: int, n: int) -> tuple[int, int, int]:
    """First index, step and count of an axis."""
    begin, end, step = (job.attrs[x] for x in ("begin", "end", "step"))
    if axis >= len(begin):
        return 0, 1, n
    indices = range(n)[slice(begin[axis], end[axis], step[axis])]
    return max(indices.start, 0), step[axis], len(indices)


def assigned(job: Job, values: Arg, scalar: Arg) -> Recipe | None:
    """One launch over the output."""
    shape, dtype = job.outputs[0]
    if len(shape) > MAX_RANK:
        return None
    ranges = [along(job, axis, n) for axis, n in enumerate(shape)]
    columns = zip(*ranges, strict=True) if ranges else [(), (), ()]
    numbers = [n for column in columns for n in filled(column)]
    layout = words(prod(shape), len(shape), *filled(shape), *numbers)
    given = input_at(0), values, output_at(0), layout, scalar, req(0)
    return Recipe((job.spread("slice_assign", f"slice_assign_{dtype}", prod(shape), *given),))


@recipe("_slice_assign")
def slice_assign(job: Job) -> Recipe | None:
    """Values of a tensor."""
    return assigned(job, input_at(1), float64(0.0))


@recipe("_slice_assign_scalar")
def slice_assign_scalar(job: Job) -> Recipe | None:
    """One number."""
    return assigned(job, nothing(), job.number("scalar"))
