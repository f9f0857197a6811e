"""Recipes of elements along an axis, an index for each line."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Arg, Job, Recipe, Shape, input_at, int64, output_at, recipe, req, struct
from ..recipe_indices import OUTSIDE, places

__all__: list[str] = []

FEW = 64
"""As many places of a line as each of its elements looks through."""


def lines_of(job: Job, shape: Shape, count: int) -> tuple[int, int, int, int]:
    """Lines along the axis (outer, extent, inner), and how many places each has."""
    axis = job.attrs.get("axis", -1)
    if axis is None or not shape:
        outer, extent, inner = 1, prod(shape), 1
    else:
        axis = normal_axis(job.name, axis, len(shape))
        outer, extent, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    return outer, extent, inner, count // max(1, outer * inner)


def lines(*numbers: int) -> Arg:
    """The argument of a kernel."""
    return struct(*map(int64, numbers))


@recipe("pick", "batch_take")
def pick(job: Job) -> Recipe | None:
    """Elements by their places."""
    (shape, dtype), (indices, _) = job.inputs
    count = prod(indices)
    along = lines_of(job, shape, count)
    find = places(job, 1, [along[1]], OUTSIDE[job.attrs.get("mode", "clip")])
    given = input_at(0), find.args[1], output_at(0), lines(*along), req(0)
    launch = job.spread("pick", f"pick_forward_{dtype}", count, *given)
    return Recipe((find, launch), temporary=8 * count)


@recipe("_backward_pick", "_backward_batch_take")
def backward(job: Job) -> Recipe | None:
    """Elements back at their places, zeros elsewhere."""
    shape, dtype = job.outputs[0]
    count = prod(job.inputs[1][0])
    along = lines_of(job, shape, count)
    if along[-1] > FEW:
        return None
    find = places(job, 1, [along[1]], OUTSIDE[job.attrs.get("mode", "clip")])
    given = input_at(0), find.args[1], output_at(0), lines(*along), req(0)
    launch = job.spread("pick", f"pick_backward_{dtype}", prod(shape), *given)
    return Recipe((find, launch), temporary=8 * count)


@recipe("fill_element_0index")
def fill(job: Job) -> Recipe | None:
    """A matrix with another element in each row."""
    (rows, columns), dtype = job.inputs[0]
    find = places(job, 2, [columns], OUTSIDE["raise"])
    given = input_at(0), input_at(1), find.args[1], output_at(0), lines(rows, columns, 1, 1), req(0)
    launch = job.spread("pick", f"pick_fill_{dtype}", rows * columns, *given)
    return Recipe((find, launch), temporary=8 * rows)
