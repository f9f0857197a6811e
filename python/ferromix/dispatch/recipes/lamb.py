"""Recipes of the phases of LAMB, and of the rates of LARS."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, input_at, int64, output_at, recipe, req
from .steps import one, rates

__all__: list[str] = []

DIRECTION = [
    "wd",
    "t",
    "bias_correction",
    "rescale_grad",
    "clip_gradient",
    "beta1",
    "beta2",
    "epsilon",
]


def launched(job: Job, word: str, dtype: str, *args: Arg) -> Recipe:
    """One launch over the elements of the output."""
    count = prod(job.outputs[0][0])
    return Recipe((job.spread("lamb", f"lamb_{word}_{dtype}", count, *args, req(0)),))


@recipe("lamb_update_phase1", "mp_lamb_update_phase1")
def direction(job: Job) -> Recipe | None:
    """The direction; where the weight has a copy, from that."""
    mixed = job.name.startswith("mp_")
    step = one(job, weight=4 if mixed else 0, states=(2, 3))
    word = "mp_phase1" if mixed else "phase1"
    return launched(job, word, job.inputs[1][1], step, rates(job, *DIRECTION))


@recipe("lamb_update_phase2", "mp_lamb_update_phase2")
def descent(job: Job) -> Recipe | None:
    """The step; where the weight has a copy, in that, too."""
    mixed = job.name.startswith("mp_")
    step = one(job, states=(4,) if mixed else ())
    bounds = [job.number(name) for name in ("lr", "lower_bound", "upper_bound")]
    word = "mp_phase2" if mixed else "phase2"
    return launched(job, word, job.inputs[0][1], step, input_at(2), input_at(3), *bounds)


@recipe("multi_lars")
def lars(job: Job) -> Recipe | None:
    """A rate for each weight."""
    shape, dtype = job.inputs[0]
    numbers = [job.number(name) for name in ("eta", "eps", "rescale_grad")]
    arrays = [*map(input_at, range(4)), output_at(0)]
    return launched(job, "rates", dtype, *arrays, int64(prod(shape)), *numbers)
