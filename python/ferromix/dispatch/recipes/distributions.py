"""Recipes of tensors of distributions, from attributes and from tensors of parameters."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    draws,
    float64,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import flat_walk

__all__: list[str] = []

LAWS = {
    "exponential": ("lam",),
    "gamma": ("alpha", "beta"),
    "poisson": ("lam",),
    "negative_binomial": ("k", "p"),
    "generalized_negative_binomial": ("mu", "alpha"),
}
"""Distributions and what their parameters are called as attributes."""


@recipe(*(f"_random_{law}" for law in LAWS))
def fixed(job: Job) -> Recipe | None:
    """One launch, with a thread for each element."""
    law = job.name.removeprefix("_random_")
    if job.outputs[0][1] not in FLOATS:
        return None
    numbers = [job.number(name) for name in LAWS[law]]
    numbers += [float64(0.0)] * (2 - len(numbers))
    return Recipe((drawn(job, law, [*numbers, nothing(), nothing()], 1),))


@recipe("_sample_uniform", "_sample_normal", *(f"_sample_{law}" for law in LAWS))
def from_tensors(job: Job) -> Recipe | None:
    """The parameters as float64, and the same."""
    if job.outputs[0][1] not in FLOATS:
        return None
    count = prod(job.inputs[0][0])
    launches, places = list[Launch](), [nothing(), nothing()]
    for k, (_, dtype) in enumerate(job.inputs):
        places[k] = workspace(8 * k * count)
        entry = "elemwise_copy_float64" if dtype == "float64" else f"elemwise_Cast_{dtype}_float64"
        given = input_at(k), places[k], flat_walk(count), WRITE
        launches.append(job.spread("elemwise", entry, count, *given))
    per = prod(job.outputs[0][0][len(job.inputs[0][0]) :])
    law = job.name.removeprefix("_sample_")
    launches.append(drawn(job, law, [float64(0.0), float64(0.0), *places], per))
    return Recipe(tuple(launches), temporary=16 * count)


@recipe("_random_randint")
def integers(job: Job) -> Recipe | None:
    """One launch, with a thread for each element."""
    shape, dtype = job.outputs[0]
    if dtype not in ("int32", "int64"):
        return None
    low, high = int(job.attrs["low"]), int(job.attrs["high"])
    size = high - low
    given = output_at(0), int64(prod(shape)), int64(low), words_of(size), draws(), req(0)
    entry = f"distributions_integers_{dtype}"
    return Recipe((job.spread("distributions", entry, prod(shape), *given),))


def words_of(size: int) -> Arg:
    """A number of 64 bits without a sign."""
    return int64(size - (1 << 64) if size >= 1 << 63 else size)


def drawn(job: Job, law: str, numbers: list[Arg], per: int) -> Launch:
    """The launch that draws."""
    shape, dtype = job.outputs[0]
    rest = *numbers, int64(max(1, per)), draws(), req(0)
    args = output_at(0), int64(prod(shape)), *rest
    return job.spread("distributions", f"distributions_{law}_{dtype}", prod(shape), *args)
