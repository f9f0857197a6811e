"""Recipes of elements, or whole tensors, repeated along axes, and of the sums on the way back."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Job, Recipe, Shape, recipe
from ..recipe_affine import Move, summed, whole
from ..recipe_folds import strides_of

__all__: list[str] = []


def repeated(job: Job, shape: Shape, out: Shape) -> Move:
    """Each element of an axis, or of the flat tensor, several times."""
    times = job.attrs["repeats"]
    if job.attrs["axis"] is None:
        return Move(((prod(shape), 1, times), (times, 0, 1)))
    axis = normal_axis(job.name, job.attrs["axis"], len(shape))
    pairs = zip(shape, strides_of(shape), strides_of(out), strict=True)
    axes = [(n, s, o * times if a == axis else o) for a, (n, s, o) in enumerate(pairs)]
    return Move((*axes, (times, 0, strides_of(out)[axis])))


def tiled(job: Job, shape: Shape, out: Shape) -> Move:
    """The tensor side by side."""
    data = (1,) * (len(out) - len(shape)) + tuple(shape)
    axes = []
    for n, step, to, extent in zip(data, strides_of(data), strides_of(out), out, strict=True):
        axes += [(extent // n if n else 0, 0, n * to), (n, step, to)]
    return Move(tuple(axes))


@recipe("repeat")
def repeat(job: Job) -> Recipe | None:
    """Copies that repeat."""
    return whole(job, repeated(job, job.inputs[0][0], job.outputs[0][0]))


@recipe("_backward_repeat")
def repeat_back(job: Job) -> Recipe | None:
    """Sums of what was repeated."""
    return summed(job, repeated(job, job.outputs[0][0], job.inputs[0][0]))


@recipe("tile")
def tile(job: Job) -> Recipe | None:
    """Copies that repeat."""
    return whole(job, tiled(job, job.inputs[0][0], job.outputs[0][0]))


@recipe("_backward_tile")
def tile_back(job: Job) -> Recipe | None:
    """Sums of what was repeated."""
    return summed(job, tiled(job, job.outputs[0][0], job.inputs[0][0]))
