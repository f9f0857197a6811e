"""Recipes of products of matrices in the names of linear algebra."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, Shape, input_at, output_at, recipe
from .dot import Matrices, products

__all__: list[str] = []

MOST_LAUNCHES = 64
"""Products in turn, of which the CPU takes more."""


@recipe("_linalg_gemm2")
def gemm2(job: Job) -> Recipe | None:
    """The products of corresponding matrices, whose rows run along any axis but the last."""
    (left, dtype), (right, other), (out, to) = *job.inputs, job.outputs[0]
    axis = job.attrs["axis"] % len(out)
    if not dtype == other == to or axis == len(out) - 1:
        return None
    # What lies before the rows is a batch, what lies between them and the columns another: the
    # larger one is that of a launch.
    before, between = prod(out[:axis]), prod(out[axis + 1 : -1])
    if min(before, between) > MOST_LAUNCHES:
        return None

    def matrices(at: Arg, shape: Shape, number: int) -> Matrices:
        inner, whole = prod(shape[axis + 1 :]), prod(shape[axis:])
        apart, first = (whole, shape[-1]) if before >= between else (shape[-1], whole)
        return Matrices(at, inner, 1, apart, number * first)

    depth = left[axis] if job.attrs["transpose_a"] else left[-1]
    sizes = max(before, between), out[axis], out[-1], depth
    launches = []
    for number in range(min(before, between)):
        a, b = matrices(input_at(0), left, number), matrices(input_at(1), right, number)
        a = a.flipped() if job.attrs["transpose_a"] else a
        b = b.flipped() if job.attrs["transpose_b"] else b
        to_out, scale = matrices(output_at(0), out, number), float(job.attrs["alpha"])
        launches += products(job, 0, sizes, a, b, to_out, scale)
    return Recipe(tuple(launches))
