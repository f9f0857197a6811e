"""Recipes of tensors from nothing."""

from __future__ import annotations

from math import prod

from ...ops.shapes import normal_axis
from ..recipe import Arg, Job, Recipe, int64, output_at, recipe, req
from ..recipe_folds import MAX_RANK, filled, strides_of, words

__all__ = ["made"]


def made(job: Job, word: str, *numbers: Arg) -> Recipe:
    """One launch over the output."""
    shape, dtype = job.outputs[0]
    given = output_at(0), int64(prod(shape)), *numbers, req(0)
    return Recipe((job.spread("init", f"init_{word}_{dtype}", prod(shape), *given),))


@recipe("_full")
def full(job: Job) -> Recipe | None:
    """One number everywhere."""
    return made(job, "full", job.number("value"))


@recipe("_arange")
def arange(job: Job) -> Recipe | None:
    """Numbers at equal distances."""
    repeat = job.attrs.get("repeat")
    times = int64(1 if repeat is None else repeat)
    return made(job, "arange", job.number("start"), job.number("step"), times)


@recipe("_eye")
def eye(job: Job) -> Recipe | None:
    """Ones on a diagonal."""
    columns = job.outputs[0][0][1]
    return made(job, "eye", int64(columns), int64(job.attrs["k"]))


@recipe("_contrib_index_array")
def index_array(job: Job) -> Recipe | None:
    """Some indices of every element."""
    shape = job.inputs[0][0]
    given, rank = job.attrs["axes"], len(shape)
    axes = range(rank) if given is None else [normal_axis(job.name, a, rank) for a in given]
    if len(axes) > MAX_RANK or job.outputs[0][1] != "int64":
        return None
    steps, extents = strides_of(shape), [shape[a] for a in axes]
    layout = words(len(axes), *filled([steps[a] for a in axes]), *filled(extents))
    return made(job, "indices", layout)
