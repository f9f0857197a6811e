"""Recipes of tensors joined along an axis, old or new, and taken apart again."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Job, Launch, Recipe, Shape, recipe
from ..recipe_affine import Move
from ..recipe_folds import strides_of

__all__: list[str] = []


@recipe("Concat")
def concat(job: Job) -> Recipe | None:
    """Along an axis that is there."""
    return moved(job, "dim", False, apart=False)


@recipe("_backward_Concat")
def concat_back(job: Job) -> Recipe | None:
    """A part for each input."""
    return moved(job, "dim", False, apart=True)


@recipe("stack")
def stack(job: Job) -> Recipe | None:
    """Along a new axis."""
    return moved(job, "axis", True, apart=False)


@recipe("SliceChannel", "_split_v2")
def split(job: Job) -> Recipe | None:
    """Parts of an axis, which may go where they have one index of it."""
    return moved(job, "axis", bool(job.attrs["squeeze_axis"]), apart=True)


def moved(job: Job, attribute: str, lacking: bool, apart: bool) -> Recipe | None:
    """A copy for each part; `lacking` tells that parts do not have the axis."""
    shape = job.inputs[0][0] if apart else job.outputs[0][0]
    parts = [desc[0] for desc in (job.outputs if apart else job.inputs)]
    given = job.attrs.get(attribute)
    axis = normal_axis(job.name, 1 if given is None else given, len(shape))
    first, launches = 0, list[Launch]()
    for k, part in enumerate(parts):
        full = (*part[:axis], 1, *part[axis:]) if lacking else part
        move = part_of(shape, full, first * prod(shape[axis + 1 :]))
        first += full[axis]
        if move.total == 0:
            continue
        launch = move.launch(job, 0, k) if apart else move.back().launch(job, k, 0)
        if launch is None:
            return None
        launches.append(launch)
    return Recipe(tuple(launches))


def part_of(shape: Shape, part: Shape, start: int) -> Move:
    """From the whole, from an element on, to a part of it."""
    return Move(tuple(zip(part, strides_of(shape), strides_of(part), strict=True)), start)
