"""Recipe of histograms."""

from __future__ import annotations

from math import prod

from ...ops.family import NUMBERS
from ..recipe import (
    Job,
    Launch,
    Recipe,
    field,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_lines import convert

__all__: list[str] = []

SHARE = 16
"""Numbers that a thread counts, about."""


@recipe("_histogram")
def histogram(job: Job) -> Recipe | None:
    """The edges, the counts, and these as the request says."""
    (shape, dtype), (bins,) = job.inputs[0], job.outputs[0][0]
    same = all(t == dtype for _, t in (*job.inputs, job.outputs[1]))
    if not same or dtype not in NUMBERS or job.outputs[0][1] != "int64":
        return None
    is_even, size = len(job.inputs) == 1, prod(shape)
    low, high = map(float, job.attrs["range"]) if is_even else (0.0, 0.0)
    # A range without width becomes one of width 1.
    wide = 0.5 if is_even and low == high else 0.0
    low, high = low - wide, high + wide
    scale = bins / (high - low) if is_even else 0.0
    even = struct(*map(field, (bins, int(is_even), low, high, scale)))
    counts, edges = workspace(), workspace(8 * bins)
    given = nothing() if is_even else input_at(1), edges, counts, output_at(1), even, req(1)
    first = job.spread("histogram", f"histogram_edges_{dtype}", bins + 1, *given)
    threads = job.limits.threads
    grid, block = (job.blocks(size, SHARE * threads), 1, 1), (threads, 1, 1)
    given = input_at(0), int64(size), edges, counts, even
    launch = Launch("histogram", f"histogram_count_{dtype}", grid, block, given)
    return Recipe((first, launch, convert(job, counts, "int64", 0)), temporary=16 * bins + 8)
