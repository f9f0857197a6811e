"""Recipes of padding."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, Shape, input_at, output_at, recipe, req
from ..recipe_folds import MAX_RANK, filled, words

__all__: list[str] = []

MODES = {"constant": 0, "edge": 1, "reflect": 2}
"""As the source numbers them."""


def axes_of(job: Job, data: Shape, out: Shape) -> Arg:
    """The extents of both, and the widths before each axis."""
    mode, widths = MODES[job.attrs["mode"]], job.attrs["pad_width"]
    numbers = len(data), mode, prod(data), prod(out)
    return words(*numbers, *filled(data), *filled(out), *filled(widths[::2]))


@recipe("Pad")
def pad(job: Job) -> Recipe | None:
    """An element of the data, or the border, for each of the output."""
    (data, dtype), out = job.inputs[0], job.outputs[0][0]
    if len(data) > MAX_RANK:
        return None
    given = input_at(0), output_at(0), axes_of(job, data, out), job.number("constant_value"), req(0)
    return Recipe((job.spread("pad", f"pad_forward_{dtype}", prod(out), *given),))


@recipe("_backward_Pad")
def backward(job: Job) -> Recipe | None:
    """Sums of what came from each element."""
    (data, dtype), out = job.outputs[0], job.inputs[0][0]
    if len(data) > MAX_RANK:
        return None
    given = input_at(0), output_at(0), axes_of(job, data, out), req(0)
    return Recipe((job.spread("pad", f"pad_backward_{dtype}", prod(data), *given),))
