"""Recipes of products of matrices in the names of linear algebra."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, Shape, input_at, output_at, recipe
from .dot import Matrices, products

__all__: list[str] = []


@recipe("_linalg_gemm2")
def gemm2(job: Job) -> Recipe | None:
    """The products of corresponding matrices, whose rows run along any axis but the last."""
    (left, dtype), (right, other), (out, to) = *job.inputs, job.outputs[0]
    axis = job.attrs["axis"] % len(out)
    if not dtype == other == to or axis == len(out) - 1:
        return None
    # What lies between the rows and the columns is a batch, what lies before them another.
    if axis != len(out) - 2 and prod(out[:axis]) != 1:
        return None

    def matrices(at: Arg, shape: Shape) -> Matrices:
        inner, whole = prod(shape[axis + 1 :]), prod(shape[axis:])
        return Matrices(at, inner, 1, whole if axis == len(shape) - 2 else shape[-1])

    a, b = matrices(input_at(0), left), matrices(input_at(1), right)
    depth = left[axis] if job.attrs["transpose_a"] else left[-1]
    a = a.flipped() if job.attrs["transpose_a"] else a
    b = b.flipped() if job.attrs["transpose_b"] else b
    sizes = prod(out[:axis]) * prod(out[axis + 1 : -1]), out[axis], out[-1], depth
    to_out, scale = matrices(output_at(0), out), float(job.attrs["alpha"])
    return Recipe(tuple(products(job, 0, sizes, a, b, to_out, scale)))
