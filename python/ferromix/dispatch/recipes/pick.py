"""Recipes of elements along an axis, an index for each line."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Launch, Recipe, Shape, input_at, int64, output_at, recipe, req, workspace
from ..recipe_folds import words
from ..recipe_indices import OUTSIDE, places
from ..recipe_lines import lines_of

__all__: list[str] = []

FEW = 64
"""As many places of a line as each of its elements looks through."""


def chosen_lines(job: Job, shape: Shape, count: int) -> tuple[int, int, int, int]:
    """Lines along the axis (outer, extent, inner), and how many places each has."""
    outer, extent, inner = lines_of(shape, job.attrs.get("axis", -1))
    return outer, extent, inner, count // max(1, outer * inner)


@recipe("pick", "batch_take")
def pick(job: Job) -> Recipe | None:
    """Elements by their places."""
    (shape, dtype), (indices, _) = job.inputs
    count = prod(indices)
    along = chosen_lines(job, shape, count)
    find = places(job, 1, [along[1]], OUTSIDE[job.attrs.get("mode", "clip")])
    given = input_at(0), find.args[1], output_at(0), words(*along), req(0)
    launch = job.spread("pick", f"pick_forward_{dtype}", count, *given)
    return Recipe((find, launch), temporary=8 * count)


@recipe("_backward_pick", "_backward_batch_take")
def backward(job: Job) -> Recipe | None:
    """Elements back at their places, zeros elsewhere."""
    shape, dtype = job.outputs[0]
    count = prod(job.inputs[1][0])
    along = chosen_lines(job, shape, count)
    find = places(job, 1, [along[1]], OUTSIDE[job.attrs.get("mode", "clip")])
    if along[-1] > FEW:
        return claimed(job, find, count, along)
    given = input_at(0), find.args[1], output_at(0), words(*along), req(0)
    launch = job.spread("pick", f"pick_backward_{dtype}", prod(shape), *given)
    return Recipe((find, launch), temporary=8 * count)


def claimed(job: Job, find: Launch, count: int, along: tuple[int, ...]) -> Recipe:
    """The same by way of the position that each element's value comes from."""
    shape, dtype = job.outputs[0]
    total, winners = prod(shape), workspace(8 * count)
    number, given = int64(total), (find.args[1], winners, words(*along))
    clear = job.spread("pick", "pick_clear_int64", total, winners, number)
    claim = job.spread("pick", "pick_claim_int64", count, *given)
    ends = input_at(0), winners, output_at(0), number, req(0)
    place = job.spread("pick", f"pick_place_{dtype}", total, *ends)
    return Recipe((find, clear, claim, place), temporary=8 * (count + total))


@recipe("fill_element_0index")
def fill(job: Job) -> Recipe | None:
    """A matrix with another element in each row."""
    (rows, columns), dtype = job.inputs[0]
    find = places(job, 2, [columns], OUTSIDE["raise"])
    given = input_at(0), input_at(1), find.args[1], output_at(0), words(rows, columns, 1, 1), req(0)
    launch = job.spread("pick", f"pick_fill_{dtype}", rows * columns, *given)
    return Recipe((find, launch), temporary=8 * rows)
