"""Recipes of windows of images as columns, and of the way back."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Arg, Job, Recipe, Shape, input_at, output_at, recipe, req
from ..recipe_folds import words

__all__: list[str] = []


@recipe("im2col")
def columns(job: Job) -> Recipe | None:
    """A thread for each element of the matrix."""
    return moved(job, "forward", job.inputs[0][0])


@recipe("col2im", "_backward_im2col")
def images(job: Job) -> Recipe | None:
    """A thread for each element of the images."""
    return moved(job, "backward", job.outputs[0][0])


def moved(job: Job, word: str, images: Shape) -> Recipe | None:
    """One launch, for images of this shape."""
    (_, dtype), (shape, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype not in FLOATS:
        return None
    given = input_at(0), output_at(0), windows(job, images), req(0)
    return Recipe((job.spread("im2col", f"im2col_{word}_{dtype}", prod(shape), *given),))


def windows(job: Job, images: Shape) -> Arg:
    """An ``fm::Windows``."""
    attrs, extents = job.attrs, images[2:]
    ones = (1,) * len(extents)
    stride, dilate = attrs["stride"] or ones, attrs["dilate"] or ones
    pad = attrs["pad"] or (0,) * len(extents)
    axes = [(1, 1, 1, 1, 1, 0)] * (3 - len(extents))
    for n, k, s, d, p in zip(extents, attrs["kernel"], stride, dilate, pad, strict=True):
        axes.append((n, (n + 2 * p - (k - 1) * d - 1) // s + 1, k, s, d, p))
    return words(prod(images[:2]), *(number for axis in axes for number in axis))
