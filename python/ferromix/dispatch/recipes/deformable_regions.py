"""Recipes of means over bins of regions that move, and of the gradients."""

from __future__ import annotations

from dataclasses import replace
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
    nothing,
    output_at,
    recipe,
    refusal,
    req,
    struct,
    workspace,
)
from ..recipe_folds import split
from ..recipe_indices import groups
from .gemm import WIDTH
from .regions import no_image

__all__: list[str] = []

NAME, STEM = "_contrib_DeformablePSROIPooling", "deformable_regions"
REGION = 40
"""Bytes that say where a region is."""
TAPS = 4
"""Pixels around a point."""
THREADS = 64
"""Those of a block that shares moves, of which few get four times as many: each thread takes
many registers."""


@recipe("_contrib_DeformablePSROIPooling")
def forward(job: Job) -> Recipe | None:
    """A thread for each bin of a channel, after the regions were found."""
    (data, dtype), (rois, _) = job.inputs[:2]
    if dtype not in FLOATS:
        return None
    shape, regions = job.outputs[0][0], workspace()
    pool, trans = geometry(job, data, rois[0], 2)
    given = input_at(0), regions, trans, output_at(0), pool, req(0)
    launches = (
        found(job, dtype, 1, regions, pool),
        job.spread(STEM, f"{STEM}_forward_{dtype}", prod(shape), *given),
    )
    return Recipe(launches, rois[0] * REGION, refusals=(no_image(NAME, data[0]),))


def found(job: Job, dtype: str, rois: int, regions: Arg, pool: Arg) -> Launch:
    """Where the regions are that are an input."""
    given = input_at(rois), regions, pool, refusal()
    return job.spread(STEM, f"{STEM}_find_{dtype}", job.inputs[rois][0][0], *given)


@recipe("_backward__contrib_DeformablePSROIPooling")
def backward(job: Job) -> Recipe | None:
    """A thread for each pixel, after points were grouped by pixels; threads share each move."""
    (data, dtype), (rois, _) = job.inputs[1:3]
    if dtype not in FLOATS:
        return None
    pool, trans = geometry(job, data, rois[0], 3)
    attrs, types = job.attrs, classes(job, 3)
    bins = rois[0] * types * attrs["pooled_size"] ** 2
    taps = TAPS * bins * attrs["sample_per_part"] ** 2
    met = groups(job, taps, data[0] * types * attrs["group_size"] ** 2 * prod(data[2:]))
    if met is None:
        return None
    at = met.temporary, met.temporary + rois[0] * REGION
    regions, weights, counts = map(workspace, (*at, at[1] + taps * WIDTH[dtype]))
    points = regions, trans, workspace(), weights, counts, pool, req(0)
    back = input_at(0), met.arg, weights, counts, output_at(0), pool, req(0)
    launches = [
        found(job, dtype, 2, regions, pool),
        job.spread(STEM, f"{STEM}_taps_{dtype}", bins, *points),
        *met.launches,
        job.spread(STEM, f"{STEM}_pixels_{dtype}", prod(data), *back),
    ]
    if not attrs["no_trans"]:
        move = input_at(0), input_at(1), regions, trans, counts, output_at(1), pool, req(1)
        count = prod(job.outputs[1][0]) // 2
        each = bins * attrs["output_dim"] // (types * max(1, count))
        limits = replace(job.limits, threads=min(THREADS, job.limits.threads))
        how = split(limits, count, each, 1)
        launches.append(Launch(STEM, f"{STEM}_moves_{dtype}", how.grid, how.block, move))
    room = at[1] + (taps + bins) * WIDTH[dtype]
    return Recipe(tuple(launches), room, refusals=(no_image(NAME, data[0]),))


def classes(job: Job, trans: int) -> int:
    """Channels with moves of their own; `trans` is the input of the moves."""
    return 1 if job.attrs["no_trans"] else job.inputs[trans][0][1] // 2


def geometry(job: Job, data: Shape, regions: int, trans: int) -> tuple[Arg, Arg]:
    """An ``fm::Pool``, and where the moves are."""
    attrs, still = job.attrs, job.attrs["no_trans"]
    bins, moved = attrs["pooled_size"], 0 if still else job.inputs[trans][0][0]
    counts = attrs["output_dim"], bins, attrs["group_size"], attrs["part_size"] or bins
    numbers = *data, regions, *counts, attrs["sample_per_part"], classes(job, trans), moved
    factors = float(attrs["spatial_scale"]), float(attrs["trans_std"])
    return struct(*map(field, (*numbers, *factors))), nothing() if still else input_at(trans)
