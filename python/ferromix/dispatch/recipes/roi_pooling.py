"""Recipes of maxima over bins of regions, and of the gradient."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Launch,
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

__all__: list[str] = []

REGION = 40
"""Bytes that say where a region is."""


def regions(job: Job, rois: int, data: Shape) -> tuple[Launch, Arg, int]:
    """What finds the regions, which become the start of the temporary memory; an ``fm::Pool``."""
    (count, _), dtype = job.inputs[rois]
    numbers = *data, count, *job.attrs["pooled_size"], float(job.attrs["spatial_scale"])
    pool = struct(*map(field, numbers))
    given = input_at(rois), workspace(), pool, refusal()
    return job.spread("roi_pooling", f"roi_pooling_regions_{dtype}", count, *given), pool, count


def no_image(images: int) -> tuple[tuple[str, str], ...]:
    """What is refused."""
    return (("index", f"ROIPooling: a region is in image {{}} of {images}"),)


@recipe("ROIPooling")
def forward(job: Job) -> Recipe | None:
    """A thread for each bin."""
    (data, dtype), (shape, _) = job.inputs[0], job.outputs[0]
    if dtype not in FLOATS:
        return None
    find, pool, count = regions(job, 1, data)
    given = input_at(0), workspace(), output_at(0), output_at(1), pool, req(0), req(1)
    launch = job.spread("roi_pooling", f"roi_pooling_forward_{dtype}", prod(shape), *given)
    return Recipe((find, launch), count * REGION, refusals=no_image(data[0]))


@recipe("_backward_ROIPooling")
def backward(job: Job) -> Recipe | None:
    """A thread for each element of the data, which asks the bins around it."""
    data, dtype = job.outputs[0]
    if dtype not in FLOATS:
        return None
    find, pool, count = regions(job, 1, data)
    given = input_at(0), input_at(2), workspace(), output_at(0), pool, req(0)
    launch = job.spread("roi_pooling", f"roi_pooling_backward_{dtype}", prod(data), *given)
    return Recipe((find, launch), count * REGION, refusals=no_image(data[0]))
