"""Recipes of running sums."""

from __future__ import annotations

from ..recipe import Job, Launch, Recipe, input_at, int32, output_at, recipe, req
from ..recipe_folds import along
from ..recipe_lines import lines_of

__all__: list[str] = []


@recipe("cumsum")
def cumsum(job: Job) -> Recipe | None:
    """From the front."""
    return summed(job, False)


@recipe("_backward_cumsum")
def backward(job: Job) -> Recipe | None:
    """From the back."""
    return summed(job, True)


def summed(job: Job, back: bool) -> Recipe | None:
    """A thread for each line, or a block where lines are few; both ends have one type."""
    (given, dtype), (shape, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype == "bool":
        return None
    lines = lines_of(shape if back else given, job.attrs.get("axis"))
    outer, count, inner = lines
    threads = job.limits.threads
    args = input_at(0), output_at(0), along(*lines), int32(int(back)), req(0)
    if inner == 1 or outer * inner * threads < count:
        grid, block = (job.blocks(outer * inner, 1), 1, 1), (threads, 1, 1)
        return Recipe((Launch("scan", f"scan_row_{dtype}", grid, block, args),))
    return Recipe((job.spread("scan", f"scan_lines_{dtype}", outer * inner, *args),))
