"""Recipes of means over bins of regions, and of the gradients."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Recipe,
    Shape,
    field,
    input_at,
    output_at,
    recipe,
    refusal,
    req,
    struct,
    workspace,
)
from .gemm import WIDTH

__all__ = ["no_image"]

POINTS, ALIGNED, PIXELS = range(3)
"""What the mean is over, as the source numbers it."""
WORD = 8
"""Bytes of an image's number, and of the pixels of a bin along an axis."""
TOGETHER = 4
"""Channels of a thread of the gradient."""


@recipe("_contrib_ROIAlign", "_contrib_PSROIPooling")
def forward(job: Job) -> Recipe | None:
    """A thread for each bin of a channel."""
    return over_regions(job, "forward", 0, job.outputs[0][0], prod(job.outputs[0][0]))


@recipe("_backward_ROIAlign", "_backward__contrib_PSROIPooling")
def backward(job: Job) -> Recipe | None:
    """A thread for each pixel of some channels."""
    count = prod(job.outputs[0][0]) // TOGETHER
    return over_regions(job, "backward", 1, job.inputs[0][0], count)


def over_regions(job: Job, word: str, first: int, bins: Shape, count: int) -> Recipe | None:
    """Tables of weights, and a launch of `count` threads from the first input to the output.

    `first` is the input of the data, after which regions come; `bins` have the shape of the means.
    """
    (data, dtype), (rois, _) = job.inputs[first : first + 2]
    if dtype not in FLOATS:
        return None
    regions, sizes = geometry(job, data, bins), bins[2:]
    spans = WORD * rois[0]
    weights = spans + WORD * rois[0] * (sum(sizes) + 2)
    tables = struct(workspace(), workspace(spans), workspace(weights))
    entry = f"regions_{word}_{dtype}"
    given = input_at(0), tables, output_at(0), regions, req(0)
    find = input_at(first + 1), tables, regions, refusal()
    launches = (
        job.spread("regions", f"regions_tables_{dtype}", 2 * rois[0], *find),
        job.spread("regions", entry, count, *given),
    )
    numbers = rois[0] * (sizes[0] * data[2] + sizes[1] * data[3])
    name = "_contrib_" + job.name.removeprefix("_backward_").removeprefix("_contrib_")
    empty = f"{name}: region {{}} has no extent, which it must have with aligned=True"
    told = (no_image(name, data[0]), ("value", empty))
    return Recipe(launches, weights + numbers * WIDTH[dtype], refusals=told)


def no_image(name: str, images: int) -> tuple[str, str]:
    """What is refused of a region's image."""
    image = f"image {images}, a later one or none, but there are {images}"
    return "index", f"{name}: region {{}} is of {image}"


def geometry(job: Job, data: Shape, bins: Shape) -> Arg:
    """An ``fm::Regions``."""
    attrs, (regions, tops, high, wide) = job.attrs, bins
    if "group_size" in attrs:
        groups = (attrs["group_size"] or high, attrs["group_size"] or wide)
        kind, samples = PIXELS, 0
    else:
        groups = (high, wide) if attrs["position_sensitive"] else (1, 1)
        kind, samples = ALIGNED if attrs["aligned"] else POINTS, max(0, attrs["sample_ratio"])
    numbers = *data, regions, tops, high, wide, *groups, kind, samples
    return struct(*map(field, numbers), field(float(attrs["spatial_scale"])))
