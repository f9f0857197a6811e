"""Recipes of count sketches, and of the way back."""

from __future__ import annotations

from math import prod

from ...ops.family import REALS
from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import WIDEST, flat_walk, words
from ..recipe_indices import OUTSIDE, groups, out_of_bounds, places

__all__: list[str] = []


@recipe("_contrib_count_sketch")
def forward(job: Job) -> Recipe | None:
    """A thread for each place of a row, after elements were grouped by places."""
    (shape, dtype), elements = job.outputs[0], job.inputs[1][0][1]
    met = groups(job, elements, shape[-1])
    if dtype not in REALS or met is None:
        return None
    find = places(job, 1, [shape[-1]], OUTSIDE["raise"], refused=True)
    signs, converted = signs_of(job, met.temporary)
    sketch = words(prod(shape[:-1]), elements, shape[-1])
    given = input_at(0), met.arg, signs, output_at(0), sketch, req(0)
    launch = job.spread("sketch", f"sketch_forward_{dtype}", prod(shape), *given)
    launches = find, *met.launches, *converted, launch
    refusals = out_of_bounds(job.name, [shape[-1]], 1)
    return Recipe(launches, met.temporary + elements * WIDEST, refusals=refusals)


@recipe("_backward_count_sketch")
def backward(job: Job) -> Recipe | None:
    """A thread for each element."""
    (shape, dtype), count = job.outputs[0], job.inputs[0][0][-1]
    if dtype not in REALS:
        return None
    find = places(job, 1, [count], OUTSIDE["raise"], refused=True)
    signs, converted = signs_of(job, WIDEST * shape[-1])
    sketch = words(prod(shape[:-1]), shape[-1], count)
    given = input_at(0), workspace(), signs, output_at(0), sketch, req(0)
    launch = job.spread("sketch", f"sketch_backward_{dtype}", prod(shape), *given)
    refusals = out_of_bounds(job.name, [count], 1)
    return Recipe((find, *converted, launch), 2 * WIDEST * shape[-1], refusals=refusals)


def signs_of(job: Job, offset: int) -> tuple[Arg, list[Launch]]:
    """The signs in the type of the data, from `offset` on where they have another one."""
    (shape, dtype), to = job.inputs[2], job.inputs[0][1]
    if dtype == to:
        return input_at(2), []
    count, signs = prod(shape), workspace(offset)
    given = input_at(2), signs, flat_walk(count), WRITE
    return signs, [job.spread("elemwise", f"elemwise_Cast_{dtype}_{to}", count, *given)]
