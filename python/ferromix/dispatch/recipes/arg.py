"""Recipes of where the largest or smallest element lies."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Job, Launch, Recipe, Shape, input_at, recipe, workspace
from ..recipe_lines import convert, fold_walk, shared

__all__: list[str] = []


def axes_of(job: Job, shape: Shape) -> list[bool]:
    """For each axis, whether places are counted along it."""
    if job.name == "argmax_channel":
        return [axis == 1 for axis in range(len(shape))]
    given = job.attrs.get("axis")
    if given is None or given == ():
        return [True] * len(shape)
    named = (given,) if isinstance(given, int) else given
    axes = {normal_axis(job.name, axis, len(shape)) for axis in named}
    return [(axis in axes) != bool(job.attrs.get("exclude")) for axis in range(len(shape))]


@recipe("argmax", "argmin", "argmax_channel")
def arg(job: Job) -> Recipe | None:
    """Places as integers, then in the type of the output."""
    shape, dtype = job.inputs[0]
    reduced = axes_of(job, shape)
    layout = fold_walk(shape, reduced)
    if layout is None:
        return None
    outputs = prod(job.outputs[0][0])
    count = prod(n for n, gone in zip(shape, reduced, strict=True) if gone)
    side = 1 if not reduced or reduced[-1] else shape[-1]
    how = shared(job, outputs, count, side)
    word = "min" if job.name == "argmin" else "max"
    search = Launch("arg", f"arg_{word}_{dtype}", *how, (input_at(0), workspace(), layout))
    return Recipe((search, convert(job, workspace(), "int64", 0)), temporary=8 * outputs)
