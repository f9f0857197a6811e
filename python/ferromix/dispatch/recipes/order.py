"""Recipes of axes, or elements along them, in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.shapes import normal_axis
from ..recipe import Job, Recipe, Shape, recipe
from ..recipe_affine import Move, whole
from ..recipe_folds import strides_of

__all__: list[str] = []


def permuted(shape: Shape, axes: Sequence[int]) -> Move:
    """The axes of a tensor in another order."""
    out = tuple(shape[a] for a in axes)
    steps = strides_of(shape)
    return Move(tuple(zip(out, (steps[a] for a in axes), strides_of(out), strict=True)))


@recipe("transpose")
def transpose(job: Job) -> Recipe | None:
    """Axes in the order given, or from the last to the first."""
    shape = job.inputs[0][0]
    given = job.attrs.get("axes") or range(len(shape))[::-1]
    return whole(job, permuted(shape, [normal_axis("transpose", a, len(shape)) for a in given]))


@recipe("SwapAxis")
def swap(job: Job) -> Recipe | None:
    """Two axes exchanged."""
    shape = job.inputs[0][0]
    axes = list(range(len(shape)))
    a, b = (normal_axis("SwapAxis", job.attrs[n], len(shape)) for n in ("dim1", "dim2"))
    axes[a], axes[b] = axes[b], axes[a]
    return whole(job, permuted(shape, axes))


@recipe("reverse")
def reverse(job: Job) -> Recipe | None:
    """Elements along some axes from the last to the first."""
    shape = job.inputs[0][0]
    given = job.attrs["axis"]
    named = (given,) if isinstance(given, int) else given or range(len(shape))
    turned = {normal_axis("reverse", a, len(shape)) for a in named}
    steps = strides_of(shape)
    signs = [-1 if a in turned else 1 for a in range(len(shape))]
    axes = [(n, s * sign, s) for n, s, sign in zip(shape, steps, signs, strict=True)]
    start = sum((shape[a] - 1) * steps[a] for a in turned)
    return whole(job, Move(tuple(axes), start))


def blocks(side: int, deep: Shape, wide: Shape) -> Move:
    """From blocks of pixels as channels, the slowest of them, to blocks of pixels."""
    (n, _, height, width), kept = deep, wide[1]
    d, w = strides_of(deep), strides_of(wide)
    axes = (
        (n, d[0], w[0]),
        (kept, d[1], w[1]),
        (height, d[2], side * w[2]),
        (side, kept * side * d[1], w[2]),
        (width, d[3], side * w[3]),
        (side, kept * d[1], w[3]),
    )
    return Move(axes)


@recipe("depth_to_space")
def depth_to_space(job: Job) -> Recipe | None:
    """Channels become blocks of pixels."""
    return whole(job, blocks(job.attrs["block_size"], job.inputs[0][0], job.outputs[0][0]))


@recipe("space_to_depth")
def space_to_depth(job: Job) -> Recipe | None:
    """Blocks of pixels become channels."""
    move = blocks(job.attrs["block_size"], job.outputs[0][0], job.inputs[0][0])
    return whole(job, move.back())
