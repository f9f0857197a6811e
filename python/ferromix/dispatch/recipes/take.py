"""Recipes of slices by their indices along an axis."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Job, Recipe, input_at, output_at, recipe, req
from ..recipe_indices import OUTSIDE, Rows, groups, out_of_bounds, places

__all__ = ["gathered", "summed"]


@recipe("take")
def take(job: Job) -> Recipe:
    """Rows by their places."""
    axis = normal_axis("take", job.attrs["axis"], len(job.inputs[0][0]))
    return gathered(job, 0, 1, axis, OUTSIDE[job.attrs["mode"]])


@recipe("_backward_take")
def backward(job: Job) -> Recipe | None:
    """Sums of rows that come from one place."""
    axis = normal_axis("take", job.attrs["axis"], len(job.outputs[0][0]))
    return summed(job, 0, 1, axis, OUTSIDE[job.attrs["mode"]])


def refused(axis: int, n: int, outside: int) -> tuple[tuple[str, str], ...]:
    """What is refused on an axis of `n`."""
    return out_of_bounds("take", [n], axis) if outside == OUTSIDE["raise"] else ()


def gathered(job: Job, data: int, indices: int, axis: int, outside: int) -> Recipe:
    """Rows along an axis of the input `data`, by the input `indices`."""
    shape, dtype = job.inputs[data]
    rows = Rows.along(shape, axis, prod(job.inputs[indices][0]))
    refusals = refused(axis, rows.n, outside)
    find = places(job, indices, [rows.n], outside, bool(refusals))
    given = input_at(data), find.args[1], output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_gather_{dtype}", rows.picked, *given)
    return Recipe((find, launch), temporary=8 * rows.count, refusals=refusals)


def summed(job: Job, grad: int, indices: int, axis: int, outside: int) -> Recipe | None:
    """The way back: sums of rows, in the order of their positions."""
    shape, dtype = job.outputs[0]
    rows = Rows.along(shape, axis, prod(job.inputs[indices][0]))
    met = groups(job, rows.count, rows.n)
    if met is None:
        return None
    refusals = refused(axis, rows.n, outside)
    find = places(job, indices, [rows.n], outside, bool(refusals))
    given = input_at(grad), met.arg, output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_sum_{dtype}", rows.whole, *given)
    return Recipe((find, *met.launches, launch), temporary=met.temporary, refusals=refusals)
