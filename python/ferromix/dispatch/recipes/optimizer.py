"""Recipes of steps of gradient descent."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Recipe,
    field,
    float64,
    input_at,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)

__all__: list[str] = []

BASIC = ["lr", "wd", "rescale_grad", "clip_gradient"]
MOMENTUM = [*BASIC, "momentum"]
RATES = {
    "sgd_update": BASIC,
    "sgd_mom_update": MOMENTUM,
    "nag_mom_update": MOMENTUM,
    "signsgd_update": ["lr", "wd"],
    "signum_update": [*MOMENTUM, "wd_lh"],
    "mp_sgd_update": BASIC,
    "mp_sgd_mom_update": MOMENTUM,
    "mp_nag_mom_update": MOMENTUM,
}
"""Attributes in the order in which a kernel takes them."""


@recipe(*RATES)
def step(job: Job) -> Recipe | None:
    """One launch, which changes states where they are."""
    shape, dtype = job.outputs[0]
    kept = "float32" if job.name.startswith("mp_") else dtype
    types = [t for _, t in job.inputs]
    if dtype not in FLOATS or types != [dtype] * 2 + [kept] * (len(types) - 2):
        return None
    count = prod(shape)
    states = [input_at(i) for i in range(2, len(types))] or [nothing()]
    arrays = struct(output_at(0), input_at(0), input_at(1), *states, field(count))
    rates = struct(*[rate(job, name) for name in RATES[job.name]])
    entry = f"optimizer_{job.name}_{dtype}"
    return Recipe((job.spread("optimizer", entry, count, arrays, rates, req(0)),))


def rate(job: Job, name: str) -> Arg:
    """A rate; a bound that is absent clips nothing."""
    absent = name.startswith("clip_") and job.attrs.get(name) is None
    return float64(-1.0) if absent else job.number(name)
