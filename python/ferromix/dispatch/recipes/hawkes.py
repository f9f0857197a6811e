"""Recipes of the likelihood of points in time, and of its gradient."""

from __future__ import annotations

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    output_at,
    recipe,
    refusal,
    req,
    struct,
    workspace,
)
from ..recipe_folds import WIDEST, split, words

__all__: list[str] = []

INPUTS = 8
MARKS = 5
"""The input of another type than the others."""


@recipe("_contrib_hawkesll")
def forward(job: Job) -> Recipe | None:
    """A thread for each kind of a sequence, then sums over kinds."""
    if not fits(job, 0):
        return None
    (sequences, kinds), dtype = job.inputs[0]
    given = given_at(0), workspace(), output_at(1), sizes_at(job, 0), req(1), refusal()
    count = sequences * kinds
    first = job.spread("hawkes", f"hawkes_forward_{dtype}", count, *given)
    last = summed(job, workspace(), 0, (sequences, kinds, kinds, 1))
    return Recipe((first, last), WIDEST * count, refusals=no_kind(kinds))


def no_kind(kinds: int) -> tuple[tuple[str, str], ...]:
    """What is refused."""
    text = f"_contrib_hawkesll: mark {{}} of a sequence is out of bounds for {kinds} kinds"
    return (("index", text),)


@recipe("_backward_contrib_hawkesll")
def backward(job: Job) -> Recipe | None:
    """The same, then sums over sequences."""
    if not fits(job, 1):
        return None
    (sequences, kinds), dtype = job.inputs[1]
    count = sequences * kinds
    parts = workspace(), workspace(WIDEST * count)
    given = given_at(1), input_at(0), output_at(0), *parts, sizes_at(job, 1), req(0), refusal()
    first = job.spread("hawkes", f"hawkes_back_{dtype}", count, *given)
    lines = kinds, 1, sequences, kinds
    sums = [summed(job, part, k + 1, lines) for k, part in enumerate(parts)]
    return Recipe((first, *sums), 2 * WIDEST * count, refusals=no_kind(kinds))


def fits(job: Job, first: int) -> bool:
    """Whether there are kernels for the types; inputs count from `first`."""
    dtype = job.outputs[0][1]
    types = [t for k, (_, t) in enumerate((*job.inputs, *job.outputs)) if k != first + MARKS]
    return dtype in FLOATS and set(types) == {dtype} and job.inputs[first + MARKS][1] == "int32"


def given_at(first: int) -> Arg:
    """An ``fm::Given``."""
    return struct(*map(input_at, range(first, first + INPUTS)))


def sizes_at(job: Job, first: int) -> Arg:
    """An ``fm::Sizes``."""
    return words(*job.inputs[first][0], job.inputs[first + MARKS][0][1])


def summed(job: Job, parts: Arg, output: int, lines: tuple[int, int, int, int]) -> Launch:
    """Sums: how many, from one to the next, terms of each, and from one of those to the next."""
    sums, apart, count, _ = lines
    how = split(job.limits, sums, count, sums if apart == 1 else 1)
    given = parts, output_at(output), words(*lines), req(output)
    return Launch("hawkes", f"hawkes_sum_{job.outputs[output][1]}", how.grid, how.block, given)
