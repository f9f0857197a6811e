"""Recipes of steps of optimizers on the rows of row_sparse gradients."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Job,
    Launch,
    Recipe,
    input_at,
    int64,
    output_at,
    recipe,
    refusal,
    struct,
    workspace,
)
from ..recipe_rows import listed, wrong_rows
from .adaptive import ADAGRAD
from .adaptive import RATES as ADAPTIVE
from .optimizer import RATES as PLAIN
from .steps import parts, rates

__all__: list[str] = []

THREADS = 256
MOST_LOOKING = 32
"""Blocks that look whether numbers of rows grow: every thread of the step reads what they found."""
RATES = {
    "sgd": PLAIN["sgd_update"],
    "sgd_mom": PLAIN["sgd_mom_update"],
    "adam": ADAPTIVE["adam_update"],
    "ftrl": ADAPTIVE["ftrl_update"],
    "adagrad": ADAGRAD,
    "group_adagrad": ADAGRAD,
}
"""Attributes in the order in which a kernel takes them."""


@recipe(*(f"_rows_{name}_update" for name in RATES))
def step(job: Job) -> Recipe:
    """A look at the numbers of rows, then the step."""
    name = job.name.removeprefix("_rows_").removesuffix("_update")
    (shape, dtype), (stored, _) = job.inputs[:2]
    if prod(shape) == 0:
        return Recipe(())
    width, last = prod(shape[1:]), len(job.inputs) - 2
    rows = listed(job, last, shape[0])
    blocks = min(MOST_LOOKING, job.blocks(stored[0], THREADS))
    own = parts(0, 0, 1, range(2, last), prod(shape))
    found = struct(*own), rates(job, *RATES[name]), rows, int64(width), workspace(), int64(blocks)
    given = input_at(0), output_at(0), int64(prod(shape)), rows, workspace(), refusal()
    begin = Launch(
        "row_updates", f"row_updates_begin_{dtype}", (blocks, 1, 1), (1, THREADS, 1), given
    )
    entry = f"row_updates_{name}_{dtype}"
    if name == "group_adagrad":
        grid = job.blocks(stored[0], 1), 1, 1
        made = Launch("row_updates", entry, grid, (1, THREADS, 1), found)
    else:
        made = job.spread("row_updates", entry, prod(stored), *found)
    refused = wrong_rows(job, last, shape[0])
    return Recipe((begin, made), temporary=8 * blocks, refusals=refused)
