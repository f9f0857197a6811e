"""Recipes of tensors from nothing."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, int64, output_at, recipe, req

__all__: list[str] = []


def filled(job: Job, word: str, *numbers: Arg) -> Recipe:
    """One launch over the output."""
    shape, dtype = job.outputs[0]
    given = output_at(0), int64(prod(shape)), *numbers, req(0)
    return Recipe((job.spread("init", f"init_{word}_{dtype}", prod(shape), *given),))


@recipe("_full")
def full(job: Job) -> Recipe | None:
    """One number everywhere."""
    return filled(job, "full", job.number("value"))


@recipe("_arange")
def arange(job: Job) -> Recipe | None:
    """Numbers at equal distances."""
    repeat = job.attrs.get("repeat")
    times = int64(1 if repeat is None else repeat)
    return filled(job, "arange", job.number("start"), job.number("step"), times)


@recipe("_eye")
def eye(job: Job) -> Recipe | None:
    """Ones on a diagonal."""
    columns = job.outputs[0][0][1]
    return filled(job, "eye", int64(columns), int64(job.attrs["k"]))
