"""The recipe of means and variances over axes."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Job, Launch, Recipe, input_at, output_at, recipe, req
from ..recipe_lines import fold_walk, shared

__all__: list[str] = []


@recipe("moments")
def moments(job: Job) -> Recipe | None:
    """Both in one launch."""
    shape, dtype = job.inputs[0]
    given = job.attrs["axes"] or range(len(shape))
    axes = {normal_axis("moments", axis, len(shape)) for axis in given}
    reduced = [axis in axes for axis in range(len(shape))]
    layout = fold_walk(shape, reduced)
    if layout is None:
        return None
    outputs = prod(n for n, gone in zip(shape, reduced, strict=True) if not gone)
    side = 1 if not reduced or reduced[-1] else shape[-1]
    count = prod(n for n, gone in zip(shape, reduced, strict=True) if gone)
    how = shared(job, outputs, count, side)
    args = input_at(0), output_at(0), output_at(1), layout, req(0), req(1)
    return Recipe((Launch("moments", f"moments_{dtype}", *how, args),))
