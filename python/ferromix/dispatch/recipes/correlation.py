"""Recipes of correlations of patches, and of the gradients."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Arg, Job, Recipe, Shape, input_at, int32, output_at, recipe, req
from ..recipe_folds import words

__all__: list[str] = []


@recipe("Correlation")
def forward(job: Job) -> Recipe | None:
    """A thread for each result."""
    (data, dtype), (shape, _) = job.inputs[0], job.outputs[0]
    if dtype not in FLOATS:
        return None
    given = input_at(0), input_at(1), output_at(0), patches(job, data, shape), req(0)
    return Recipe((job.spread("correlation", f"correlation_forward_{dtype}", prod(shape), *given),))


@recipe("_backward_Correlation")
def backward(job: Job) -> Recipe | None:
    """A thread for each element of either tensor."""
    (shape, dtype), (data, _) = job.inputs[:2]
    if dtype not in FLOATS:
        return None
    found, entry = patches(job, data, shape), f"correlation_backward_{dtype}"
    sides = [
        (input_at(0), input_at(1 + k), input_at(2 - k), output_at(k), found, int32(k), req(k))
        for k in range(2)
    ]
    return Recipe(tuple(job.spread("correlation", entry, prod(data), *side) for side in sides))


def patches(job: Job, data: Shape, out: Shape) -> Arg:
    """An ``fm::Patches``."""
    attrs = job.attrs
    reach, step = attrs["max_displacement"], attrs["stride2"]
    sizes = attrs["pad_size"], attrs["kernel_size"], reach, 2 * (reach // step) + 1
    return words(*data, *out[2:], *sizes, attrs["stride1"], step, int(attrs["is_multiply"]))
