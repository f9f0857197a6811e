"""Recipes of steps of optimizers with a rate for each element."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Launch, Recipe, input_at, int64, output_at, recipe, req
from .steps import one, rates

__all__: list[str] = []

THREADS = 256

BASIC = ["lr", "wd", "rescale_grad", "clip_gradient"]
MOMENTS = ["beta1", "beta2", "epsilon"]
ADAGRAD = ["lr", "rescale_grad", "clip_gradient", "epsilon"]
RATES = {
    "adam_update": [*BASIC, *MOMENTS],
    "ftml_update": ["lr", "wd", "rescale_grad", "clip_grad", *MOMENTS, "t", "t"],
    "ftrl_update": [*BASIC, "lamda1", "beta"],
    "_sparse_adagrad_update": ADAGRAD,
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


@recipe("_contrib_group_adagrad_update")
def group_adagrad(job: Job) -> Recipe | None:
    """Blocks have rows; a row_sparse gradient, whose rows are numbered, is the CPU's."""
    (shape, dtype), *others = job.inputs
    if len(others) != 2 or not shape:
        return None
    size = prod(shape)
    if size == 0:
        return Recipe(()) if shape[0] == 0 else None
    arrays = *map(input_at, range(3)), output_at(0), int64(shape[0]), int64(size // shape[0])
    given = *arrays, rates(job, *ADAGRAD), req(0)
    grid, block = (job.blocks(shape[0], 1), 1, 1), (1, THREADS, 1)
    entry = f"adaptive_group_adagrad_update_{dtype}"
    return Recipe((Launch("adaptive", entry, grid, block, given),))
