"""Recipes of means over bins of regions that are turned."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Recipe, field, input_at, output_at, recipe, req, struct, workspace

__all__: list[str] = []

REGION = 72
"""Bytes that say where a region is."""
MOST = 1024
"""Points of a bin along an axis."""


@recipe("_contrib_RROIAlign")
def forward(job: Job) -> Recipe | None:
    """A thread for each bin of a channel, after the regions were found.

    None where each bin has more points than the CPU takes, which says so.
    """
    (data, dtype), (rois, _) = job.inputs
    shape, attrs = job.outputs[0][0], job.attrs
    if dtype not in FLOATS or attrs["sampling_ratio"] > MOST:
        return None
    numbers = *data, rois[0], *shape[2:], max(0, attrs["sampling_ratio"]), MOST
    turned = struct(*map(field, numbers), field(float(attrs["spatial_scale"])))
    find = input_at(1), workspace(), turned
    given = input_at(0), workspace(), output_at(0), turned, req(0)
    stem = "rotated_regions"
    launches = (
        job.spread(stem, f"{stem}_find_{dtype}", rois[0], *find),
        job.spread(stem, f"{stem}_forward_{dtype}", prod(shape), *given),
    )
    return Recipe(launches, rois[0] * REGION)
