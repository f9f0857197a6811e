"""Recipes of steps of optimizers with a rate for each element."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, recipe, req
from .steps import one, rates

__all__: list[str] = []

BASIC = ["lr", "wd", "rescale_grad", "clip_gradient"]
MOMENTS = ["beta1", "beta2", "epsilon"]
RATES = {
    "adam_update": [*BASIC, *MOMENTS],
    "ftml_update": ["lr", "wd", "rescale_grad", "clip_grad", *MOMENTS, "t", "t"],
    "ftrl_update": [*BASIC, "lamda1", "beta"],
    "_sparse_adagrad_update": ["lr", "rescale_grad", "clip_gradient", "epsilon"],
    "rmsprop_update": [*BASIC, "gamma1", "epsilon", "clip_weights"],
    "rmspropalex_update": [*BASIC, "gamma1", "epsilon", "clip_weights", "gamma2"],
}
"""Attributes in the order in which a kernel takes them."""


@recipe(*RATES)
def step(job: Job) -> Recipe | None:
    """One launch, which changes states where they are."""
    shape, dtype = job.inputs[0]
    given = one(job, states=range(2, len(job.inputs))), rates(job, *RATES[job.name]), req(0)
    entry = f"adaptive_{job.name.lstrip('_')}_{dtype}"
    return Recipe((job.spread("adaptive", entry, prod(shape), *given),))
