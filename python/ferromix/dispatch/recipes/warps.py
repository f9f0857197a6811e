"""Recipes of grids of points, and of images that are read there."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Launch, Recipe, input_at, output_at, recipe, req, workspace
from ..recipe_folds import split, words
from ..recipe_indices import groups
from .gemm import WIDTH

__all__: list[str] = []

TAPS = 4
"""Pixels around a point."""


def alike(job: Job) -> str | None:
    """The type of all arrays, if they have one that the source is for."""
    dtype = job.inputs[0][1]
    same = dtype in FLOATS and all(t == dtype for _, t in (*job.inputs, *job.outputs))
    return dtype if same else None


@recipe("GridGenerator")
def grid(job: Job) -> Recipe | None:
    """A thread for each number of the grid."""
    dtype, (batch, two, *extents) = alike(job), job.outputs[0][0]
    word = "affine" if job.attrs["transform_type"] == "affine" else "flow"
    if dtype is None:
        return None
    given = input_at(0), output_at(0), words(batch * two, *extents), req(0)
    entry = f"warps_{word}_{dtype}"
    return Recipe((job.spread("warps", entry, prod(job.outputs[0][0]), *given),))


@recipe("_backward_GridGenerator")
def grid_backward(job: Job) -> Recipe | None:
    """The same; of affine maps threads along y share a row of a map."""
    dtype, (batch, two, *extents) = alike(job), job.inputs[0][0]
    if dtype is None:
        return None
    given = input_at(0), output_at(0), words(batch * two, *extents), req(0)
    if job.attrs["transform_type"] != "affine":
        entry = f"warps_flow_back_{dtype}"
        return Recipe((job.spread("warps", entry, prod(job.outputs[0][0]), *given),))
    how = split(job.limits, batch * two, prod(extents), 1)
    return Recipe((Launch("warps", f"warps_affine_back_{dtype}", how.grid, how.block, given),))


@recipe("BilinearSampler")
def sampler(job: Job) -> Recipe | None:
    """A thread for each result."""
    dtype, (data, _), (points, _) = alike(job), *job.inputs
    if dtype is None:
        return None
    images = words(*data, prod(points[2:]))
    given = input_at(0), input_at(1), output_at(0), images, req(0)
    return Recipe((job.spread("warps", f"warps_sample_{dtype}", prod(job.outputs[0][0]), *given),))


@recipe("_backward_BilinearSampler")
def sampler_backward(job: Job) -> Recipe | None:
    """A thread for each point, and one for each pixel, after points were grouped by pixels."""
    dtype, data, points = alike(job), job.inputs[1][0], job.inputs[2][0]
    if dtype is None:
        return None
    images = words(*data, prod(points[2:]))
    count, pixels = data[0] * prod(points[2:]), data[0] * prod(data[2:])
    met = groups(job, TAPS * count, pixels)
    if met is None:
        return None
    weights = workspace(met.temporary)
    find = input_at(2), workspace(), weights, images, req(0)
    back = input_at(0), met.arg, weights, output_at(0), images, req(0)
    move = input_at(0), input_at(1), input_at(2), output_at(1), images, req(1)
    launches = (
        job.spread("warps", f"warps_taps_{dtype}", count, *find),
        *met.launches,
        job.spread("warps", f"warps_pixels_{dtype}", prod(data), *back),
        job.spread("warps", f"warps_points_{dtype}", count, *move),
    )
    return Recipe(launches, met.temporary + TAPS * count * WIDTH[dtype])
