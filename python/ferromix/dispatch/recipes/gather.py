"""Recipes of elements and slices by indices of several axes."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, Shape, input_at, output_at, recipe, req
from ..recipe_folds import MAX_RANK
from ..recipe_indices import FROM_END, Rows, groups, out_of_bounds, places

__all__: list[str] = []


def rows_of(whole: Shape, indices: Shape) -> Rows:
    """Slices of a tensor, numbered by the leading axes."""
    depth = indices[0]
    return Rows(1, prod(whole[:depth]), prod(whole[depth:]), prod(indices[1:]))


@recipe("gather_nd")
def gather(job: Job) -> Recipe | None:
    """Slices by their places."""
    (shape, dtype), (indices, _) = job.inputs
    if indices[0] > MAX_RANK:
        return None
    rows = rows_of(shape, indices)
    leading = shape[: indices[0]]
    find = places(job, 1, leading, FROM_END, refused=True)
    given = input_at(0), find.args[1], output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_gather_{dtype}", rows.picked, *given)
    refusals = out_of_bounds("gather_nd", leading)
    return Recipe((find, launch), temporary=8 * rows.count, refusals=refusals)


@recipe("scatter_nd")
def scatter(job: Job) -> Recipe | None:
    """The last slice of each place."""
    return collected(job, "last", 0)


@recipe("_backward_gather_nd", "_backward_gather_nd_like")
def backward(job: Job) -> Recipe | None:
    """Sums of the slices of each place."""
    return collected(job, "sum", 0)


@recipe("_scatter_set_nd")
def scatter_set(job: Job) -> Recipe | None:
    """A tensor with other slices at some places."""
    return collected(job, "set", 0, 1)


def collected(job: Job, word: str, *sources: int) -> Recipe | None:
    """What comes together at each place; the indices are the input after `sources`."""
    index = len(sources)
    shape, dtype = job.outputs[0]
    indices = job.inputs[index][0]
    rows = rows_of(shape, indices)
    met = groups(job, rows.count, rows.n)
    if indices[0] > MAX_RANK or met is None:
        return None
    leading = shape[: indices[0]]
    find = places(job, index, leading, FROM_END, refused=True)
    given = *map(input_at, sources), met.arg, output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_{word}_{dtype}", rows.whole, *given)
    refusals = out_of_bounds(job.name, leading)
    return Recipe((find, *met.launches, launch), temporary=met.temporary, refusals=refusals)
