"""Recipes of means over bins of regions that are turned."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Job,
    Recipe,
    field,
    input_at,
    output_at,
    recipe,
    refusal,
    req,
    struct,
    workspace,
)
from .regions import no_image

__all__: list[str] = []

REGION = 72
"""Bytes that say where a region is."""
MOST = 1024
"""Points of a bin along an axis."""


@recipe("_contrib_RROIAlign")
def forward(job: Job) -> Recipe | None:
    """A thread for each bin of a channel, after the regions were found."""
    (data, dtype), (rois, _) = job.inputs
    shape, attrs = job.outputs[0][0], job.attrs
    if dtype not in FLOATS:
        return None
    numbers = *data, rois[0], *shape[2:], max(0, attrs["sampling_ratio"]), MOST
    turned = struct(*map(field, numbers), field(float(attrs["spatial_scale"])))
    find = input_at(1), workspace(), turned, refusal()
    given = input_at(0), workspace(), output_at(0), turned, req(0)
    stem = "rotated_regions"
    launches = (
        job.spread(stem, f"{stem}_find_{dtype}", rois[0], *find),
        job.spread(stem, f"{stem}_forward_{dtype}", prod(shape), *given),
    )
    many = (
        f"{job.name}: region {{}} has too many points in each bin; at most {MOST} along an axis, "
        "which sampling_ratio sets"
    )
    refusals = (no_image(job.name, data[0]), ("value", many))
    return Recipe(launches, rois[0] * REGION, refusals=refusals)
