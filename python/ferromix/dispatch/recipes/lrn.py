"""Recipes of local response normalization and its gradient."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Recipe, field, input_at, output_at, recipe, req, struct

__all__: list[str] = []


@recipe("LRN", "_backward_LRN")
def lrn(job: Job) -> Recipe | None:
    """A thread for each element."""
    (shape, dtype), attrs = job.outputs[0], job.attrs
    if dtype not in FLOATS or any(t != dtype for _, t in job.inputs):
        return None
    size = attrs["nsize"]
    axes = shape[0], shape[1], prod(shape[2:]), (size - 1) // 2
    numbers = float(attrs["alpha"]) / size, float(attrs["beta"]), float(attrs["knorm"])
    norm = struct(*map(field, (*axes, *numbers)))
    word = "backward" if job.name.startswith("_") else "forward"
    given = *map(input_at, range(len(job.inputs))), output_at(0), norm, req(0)
    return Recipe((job.spread("lrn", f"lrn_{word}_{dtype}", prod(shape), *given),))
