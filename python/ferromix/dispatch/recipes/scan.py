"""Recipes of running sums."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import WIDEST, along, flat_walk
from ..recipe_lines import convert, lines_of

__all__: list[str] = []


@recipe("cumsum")
def cumsum(job: Job) -> Recipe:
    """From the front."""
    return summed(job, False)


@recipe("_backward_cumsum")
def backward(job: Job) -> Recipe:
    """From the back."""
    return summed(job, True)


def summed(job: Job, back: bool) -> Recipe:
    """Sums of one type from start to end, or what is converted before and after."""
    (given, dtype), (shape, to) = job.inputs[0], job.outputs[0]
    lines = lines_of(shape if back else given, job.attrs.get("axis"))
    if dtype == to != "bool":
        return Recipe((scan(job, lines, dtype, back, input_at(0), output_at(0), req(0)),))
    count, sums, decides = prod(lines), workspace(), dtype if back else to
    wide = "float32" if decides in FLOATS and decides != "float64" else decides
    wide = wide if wide in FLOATS else "int64"
    into = input_at(0), sums, flat_walk(count), WRITE
    launches = (
        job.spread("elemwise", f"elemwise_Cast_{dtype}_{wide}", count, *into),
        scan(job, lines, wide, back, sums, sums, WRITE),
        convert(job, sums, wide, 0),
    )
    return Recipe(launches, temporary=WIDEST * count)


def scan(
    job: Job, lines: tuple[int, int, int], dtype: str, back: bool, source: Arg, out: Arg, req: Arg
) -> Launch:
    """A thread for each line, or a block where lines are few."""
    outer, count, inner = lines
    threads = job.limits.threads
    args = source, out, along(*lines), int32(int(back)), req
    if inner == 1 or outer * inner * threads < count:
        grid, block = (job.blocks(outer * inner, 1), 1, 1), (threads, 1, 1)
        return Launch("scan", f"scan_row_{dtype}", grid, block, args)
    return job.spread("scan", f"scan_lines_{dtype}", outer * inner, *args)
