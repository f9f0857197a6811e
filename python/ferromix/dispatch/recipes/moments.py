"""The recipe of means and variances over axes."""

from __future__ import annotations

from ...ops.shapes import normal_axis
from ..recipe import Job, Launch, Recipe, input_at, output_at, recipe, req
from ..recipe_folds import folded, split

__all__: list[str] = []


@recipe("moments")
def moments(job: Job) -> Recipe | None:
    """Both in one launch."""
    shape, dtype = job.inputs[0]
    given = job.attrs["axes"] or range(len(shape))
    axes = {normal_axis("moments", axis, len(shape)) for axis in given}
    found = folded(shape, [axis in axes for axis in range(len(shape))])
    if found is None:
        return None
    how = split(job.limits, found.outputs, found.count, found.side)
    args = input_at(0), output_at(0), output_at(1), found.walk, req(0), req(1)
    return Recipe((Launch("moments", f"moments_{dtype}", how.grid, how.block, args),))
