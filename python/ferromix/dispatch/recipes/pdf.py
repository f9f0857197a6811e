"""Recipes of densities of distributions, and of their gradients."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import split, words

__all__: list[str] = []

LAWS = {
    "uniform": 0,
    "normal": 1,
    "exponential": 2,
    "gamma": 3,
    "poisson": 4,
    "negative_binomial": 5,
    "generalized_negative_binomial": 6,
}
"""Distributions, as the source numbers them."""
READY = 48
"""Bytes of what is made of the parameters of a row."""


@recipe(*(f"_random_pdf_{law}" for law in LAWS))
def forward(job: Job) -> Recipe | None:
    """What the parameters alone make, then a thread for each sample."""
    shape, dtype = job.outputs[0]
    if dtype not in FLOATS or any(t != dtype for _, t in job.inputs):
        return None
    law = int32(LAWS[job.name.removeprefix("_random_pdf_")])
    rows = prod(job.inputs[1][0])
    ready = prepared(job, 1, law, False)
    given = input_at(0), workspace(), output_at(0), samples(job, shape, rows), law, req(0)
    last = job.spread("pdf", f"pdf_forward_{dtype}", prod(shape), *given)
    return Recipe((ready, last), temporary=READY * rows)


@recipe(*(f"_backward_pdf_{law}" for law in LAWS))
def backward(job: Job) -> Recipe | None:
    """The same; threads share the samples of a row, and blocks, where rows are few."""
    shape, dtype = job.inputs[0]
    if any(t != dtype or dtype not in FLOATS for _, t in (*job.inputs, *job.outputs)):
        return None
    law = int32(LAWS[job.name.removeprefix("_backward_pdf_")])
    rows = prod(job.inputs[2][0])
    of = samples(job, shape, rows)
    how = split(job.limits, rows, prod(shape) // max(1, rows), 1, shared=True)
    room = READY * rows
    partial, outs = workspace(room) if how.parts > 1 else nothing(), range(len(job.outputs))
    missing = 3 - len(outs)
    pointers = [*map(output_at, outs), *[nothing()] * missing]
    back = struct(*pointers, *map(req, outs), *[int32(0)] * missing)
    given = input_at(0), input_at(1), workspace(), back, partial, of, law
    launch = Launch("pdf", f"pdf_back_{dtype}", how.grid, how.block, given)
    launches = [prepared(job, 2, law, True), launch]
    if how.parts > 1:
        given = partial, int64(how.parts), back, of
        launches.append(job.spread("pdf", f"pdf_join_{dtype}", 2 * rows, *given))
        room += 16 * rows * how.parts
    return Recipe(tuple(launches), temporary=room)


def samples(job: Job, shape: tuple[int, ...], rows: int) -> Arg:
    """An ``fm::Samples``."""
    return words(rows, prod(shape) // max(1, rows), bool(job.attrs["is_log"]))


def prepared(job: Job, first: int, law: Arg, slopes: bool) -> Launch:
    """What parameters, the inputs from `first` on, make for the rows, in temporary memory."""
    shape, dtype = job.inputs[first]
    second = input_at(first + 1) if len(job.inputs) > first + 1 else nothing()
    rows, given = prod(shape), (input_at(first), second, workspace())
    entry = f"pdf_ready_{dtype}"
    return job.spread("pdf", entry, rows, *given, int64(rows), law, int32(int(slopes)))
