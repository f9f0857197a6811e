"""Recipes of products of matrices with triangles and themselves, and of systems of equations."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, output_at, recipe, req
from .dot import products
from .linalg_triangles import real
from .matrices import LOWER, UPPER, Steps, rows_of

__all__: list[str] = []


@recipe("_linalg_syrk")
def syrk(job: Job) -> Recipe | None:
    """The product with the transposed matrix; both halves of it have the same sums."""
    if real(job) is None:
        return None
    *lead, rows, columns = job.inputs[0][0]
    flip, scale = job.attrs["transpose"], float(job.attrs["alpha"])
    given = rows_of(input_at(0), rows, columns)
    n, depth = (columns, rows) if flip else (rows, columns)
    a, b = (given.flipped(), given) if flip else (given, given.flipped())
    sizes = prod(lead), n, n, depth
    made = products(job, 0, sizes, a, b, rows_of(output_at(0), n, n), scale)
    return Recipe(tuple(made))


@recipe("_linalg_trmm")
def trmm(job: Job) -> Recipe | None:
    """The product with a copy of the triangle that has zeros beside it."""
    dtype, attrs = real(job), job.attrs
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    rows, columns = job.inputs[1][0][-2:]
    steps = Steps(job, dtype, prod(lead))
    triangle = steps.matrices(n, n)
    kept = LOWER if attrs["lower"] else UPPER
    steps.move((n, n), rows_of(input_at(0), n, n), triangle, kept=kept)
    triangle = triangle.flipped() if attrs["transpose"] else triangle
    other, to = (rows_of(at, rows, columns) for at in (input_at(1), output_at(0)))
    a, b = (other, triangle) if attrs["rightside"] else (triangle, other)
    sizes = steps.count, rows, columns, n
    made = products(job, 0, sizes, a, b, to, float(attrs["alpha"]))
    return Recipe((*steps.launches, *made), steps.room.bytes)


@recipe("_linalg_trsm")
def trsm(job: Job) -> Recipe | None:
    """Equations by blocks of rows; those on the right side are transposed."""
    dtype, attrs = real(job), job.attrs
    if dtype is None:
        return None
    *lead, n, _ = job.inputs[0][0]
    rows, columns = job.inputs[1][0][-2:]
    steps = Steps(job, dtype, prod(lead))
    triangle = rows_of(input_at(0), n, n)
    given, to = (rows_of(at, rows, columns) for at in (input_at(1), output_at(0)))
    flip, right = attrs["transpose"], attrs["rightside"]
    if right:
        given, to, columns = given.flipped(), to.flipped(), rows
    sizes = n, columns
    unknowns = steps.matrices(*sizes)
    steps.move(sizes, given, unknowns, float(attrs["alpha"]))
    if flip != right:
        triangle = triangle.flipped()
    steps.solve(sizes, triangle, unknowns, attrs["lower"] != (flip != right))
    steps.move(sizes, unknowns, to, request=req(0))
    return Recipe(tuple(steps.launches), steps.room.bytes)
