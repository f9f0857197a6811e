"""Recipe of different classes in each row."""

from __future__ import annotations

from math import log

from ..recipe import (
    Job,
    Launch,
    Recipe,
    draws,
    field,
    int64,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)

__all__: list[str] = []


@recipe("_sample_unique_zipfian")
def unique(job: Job) -> Recipe | None:
    """A block for each row, which keeps what it has in a table that is half empty."""
    (count, wanted), dtype = job.outputs[0]
    if dtype != "int64":
        return None
    size, most = 1 << (2 * wanted).bit_length(), job.attrs["range_max"]
    rows = struct(*map(field, (count, wanted, most, size)), field(log(most)))
    seen = workspace()
    total = count * size
    clear = job.spread("zipfian", "zipfian_clear_int32", total, seen, int64(total))
    threads = 32 * -(-max(1, min(wanted, job.limits.threads)) // 32)
    given = output_at(0), req(0), output_at(1), req(1), seen, rows, draws()
    grid, block = (job.blocks(count, 1), 1, 1), (threads, 1, 1)
    launch = Launch("zipfian", "zipfian_int64", grid, block, given)
    return Recipe((clear, launch), temporary=4 * total)
