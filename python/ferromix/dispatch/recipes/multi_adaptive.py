"""Recipes of steps of AdamW and LAMB for several weights at once, and of AdamW for one."""

from __future__ import annotations

from ..recipe import Arg, Job, Launch, Recipe, input_at, recipe, workspace
from .gemm import WIDTH
from .steps import Table, rate, rates, tables

__all__: list[str] = []

STEM = "multi_adaptive"
MOMENTS = ["beta1", "beta2", "epsilon"]
SQUARES = 16
"""Bytes of two sums of squares."""


def prefix(job: Job) -> tuple[str, int]:
    """What the names of entry points begin with, and how many inputs a weight has."""
    return ("mp_", 5) if "_mp_" in job.name else ("", 4)


@recipe("_adamw_update", "_mp_adamw_update", "_multi_adamw_update", "_multi_mp_adamw_update")
def adamw(job: Job) -> Recipe | None:
    """A launch for each table of weights; rates of a single weight may differ from run to run."""
    word, each = prefix(job)
    count = job.attrs.get("num_weights", 1)
    names = ["lr", "wd", "eta"]

    def own(number: int) -> list[Arg | float]:
        if "num_weights" in job.attrs:
            return [job.attrs[f"{name}s"][number] for name in names]
        return [job.number(name) for name in names]

    common = rates(job, "clip_gradient", *MOMENTS)
    made = [
        table.launch(job, STEM, f"{word}adamw", common, input_at(each * count))
        for table in tables(job, each, count, own)
    ]
    return Recipe(tuple(made))


@recipe("_multi_lamb_update", "_multi_mp_lamb_update")
def lamb(job: Job) -> Recipe | None:
    """Three launches for each table of weights, which share temporary memory."""
    word, each = prefix(job)
    attrs = job.attrs

    def own(number: int) -> list[Arg | float]:
        t, parts = attrs["step_count"][number], [1.0, 1.0]
        if attrs["bias_correction"]:
            parts = [1.0 - float(attrs[name]) ** t for name in ("beta1", "beta2")]
        return [attrs["wds"][number], *parts, attrs["learning_rates"][number]]

    made: list[Launch] = []
    temporary = 0
    width = 4 if word else WIDTH[job.inputs[0][1]]
    for table in tables(job, each, attrs["num_tensors"], own):
        launches, bytes = stepped(job, word, table, width)
        made += launches
        temporary = max(temporary, bytes)
    return Recipe(tuple(made), temporary)


def stepped(job: Job, word: str, table: Table, width: int) -> tuple[list[Launch], int]:
    """Directions, their lengths, and the step along them; bytes of temporary memory."""
    lengths = SQUARES * table.chunks
    directions = lengths + 8 * table.count
    squares, rest = workspace(0), (workspace(directions), workspace(lengths))
    common = rates(job, "rescale_grad", "clip_gradient", *MOMENTS)
    first = table.launch(job, STEM, f"{word}lamb_direction", common, rest[0], squares, deep=True)
    bounds = rate(job, "lower_bound"), rate(job, "upper_bound")
    entry = f"{STEM}_{word}lamb_lengths_{job.inputs[0][1]}"
    args = table.arg, squares, *bounds, rest[1]
    second = Launch(STEM, entry, (table.count, 1, 1), first.block, args)
    third = table.launch(job, STEM, f"{word}lamb_descent", *rest)
    return [first, second, third], directions + width * table.elements
