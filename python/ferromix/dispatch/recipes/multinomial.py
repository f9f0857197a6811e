"""Recipes of classes by their probabilities, and of the way back from their logarithms."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Job,
    Launch,
    Recipe,
    Shape,
    draws,
    input_at,
    output_at,
    recipe,
    refusal,
    req,
    workspace,
)
from ..recipe_folds import split, words
from ..recipe_indices import OUTSIDE, places
from ..recipe_lines import convert

__all__: list[str] = []

MOST = 2**31 - 1
"""Classes that 32 bits number."""
NO_PROBABILITIES = (
    "row {} of data holds no probabilities: they must not be negative and have a positive, finite "
    "sum"
)


def rows_of(data: Shape, drawn: Shape) -> tuple[int, int, int]:
    """Rows, their classes, and how often each is drawn from."""
    rows = prod(data[:-1])
    return rows, data[-1], prod(drawn) // max(1, rows)


@recipe("_sample_multinomial")
def multinomial(job: Job) -> Recipe | None:
    """Running sums of the rows, then a thread for each draw, and for each logarithm."""
    (shape, dtype), (drawn, _) = job.inputs[0], job.outputs[0]
    if dtype not in FLOATS or shape[-1] > MOST:
        return None
    if not prod(drawn):
        return Recipe(())
    count, classes, per = rows_of(shape, drawn)
    rows = words(count, classes, per)
    sums, last = workspace(), workspace(8 * count * classes)
    room = 8 * count * classes + 4 * count
    found, total = workspace(room), prod(drawn)
    threads = min(job.limits.threads, 32 * -(-classes // 32))
    grid, block = (job.blocks(count, 1), 1, 1), (threads, 1, 1)
    given = input_at(0), sums, last, rows, refusal()
    launches = [Launch("multinomial", f"multinomial_sums_{dtype}", grid, block, given)]
    given = sums, last, found, rows, draws()
    launches.append(job.spread("multinomial", "multinomial_draw_int32", total, *given))
    if len(job.outputs) > 1:
        given = input_at(0), found, output_at(1), rows, req(1)
        launches.append(job.spread("multinomial", f"multinomial_logs_{dtype}", total, *given))
    launches.append(convert(job, found, "int32", 0))
    return Recipe(tuple(launches), room + 4 * total, refusals=(("value", NO_PROBABILITIES),))


@recipe("_backward_sample_multinomial")
def backward(job: Job) -> Recipe | None:
    """Places of the classes, then sums of the draws of each."""
    (shape, dtype), (drawn, _) = job.inputs[1], job.inputs[2]
    if dtype not in FLOATS or any(t != dtype for t in (job.inputs[0][1], job.outputs[0][1])):
        return None
    count, classes, per = rows_of(shape, drawn)
    find = places(job, 2, [classes], OUTSIDE["raise"], refused=True)
    how = split(job.limits, count * classes, per, classes)
    given = input_at(0), input_at(1), workspace(), output_at(0), words(count, classes, per), req(0)
    last = Launch("multinomial", f"multinomial_back_{dtype}", how.grid, how.block, given)
    refusals = (("value", f"there is no class {{}}, only {classes}"),)
    return Recipe((find, last), temporary=8 * prod(drawn), refusals=refusals)
