"""Recipes of diagonals, taken out of a matrix or put onto one."""

from __future__ import annotations

from ...ops.shapes import normal_axis
from ..recipe import Job, Recipe, Shape, recipe
from ..recipe_affine import Move, whole
from ..recipe_folds import strides_of

__all__: list[str] = []


def diagonals(job: Job, matrix: Shape, lines: Shape, square: bool) -> Move:
    """From a tensor to its diagonals, which are the last axis; a square was made of a vector."""
    k, rank = job.attrs["k"], len(matrix)
    names = ("axis1", "axis2")
    a, b = (0, 1) if square else (normal_axis(job.name, job.attrs[x], rank) for x in names)
    steps = strides_of(matrix)
    others = [steps[x] for x in range(rank) if x not in (a, b)]
    from_ = [*others, steps[a] + steps[b]]
    axes = tuple(zip(lines, from_, strides_of(lines), strict=True))
    return Move(axes, abs(k) * steps[b if k > 0 else a])


@recipe("diag")
def diag(job: Job) -> Recipe | None:
    """The diagonal of a matrix, or a matrix with that diagonal."""
    shape, out = job.inputs[0][0], job.outputs[0][0]
    if len(shape) == 1:
        return whole(job, diagonals(job, out, shape, True).back())
    return whole(job, diagonals(job, shape, out, False))


@recipe("_backward_diag")
def backward(job: Job) -> Recipe | None:
    """The way back."""
    grad, data = job.inputs[0][0], job.outputs[0][0]
    if len(data) == 1:
        return whole(job, diagonals(job, grad, data, True))
    return whole(job, diagonals(job, data, grad, False).back())
