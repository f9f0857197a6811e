"""Parts of recipes over lines of elements: their order, and the conversion of what they found."""

from __future__ import annotations

from math import prod

from .recipe import Arg, Job, Launch, Shape, int64, output_at, req
from .recipe_folds import flat_walk

__all__ = ["LONGEST", "convert", "lines_of", "sorted_keys"]

LONGEST = 2048
"""Elements of a line that shared memory holds."""


def lines_of(shape: Shape, axis: int | None) -> tuple[int, int, int]:
    """An array as (outer, extent, inner) around an axis; one line where that is None."""
    if axis is None or not shape:
        return 1, prod(shape), 1
    axis %= len(shape)
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def convert(job: Job, source: Arg, dtype: str, output: int) -> Launch:
    """Numbers of a type, without gaps, to an output, whose request they follow."""
    shape, to = job.outputs[output]
    count = prod(shape)
    given = source, output_at(output), flat_walk(count), req(output)
    return job.spread("elemwise", f"elemwise_Cast_{dtype}_{to}", count, *given)


def sorted_keys(job: Job, keys: Arg, at: Arg, total: int, size: int) -> list[Launch]:
    """Sorts `total` keys, in lines of a power of two from `LONGEST` on, with 32 bits for each key,
    by which equal ones are sorted."""
    grid, block = (job.blocks(total // LONGEST, 1), 1, 1), (job.limits.threads, 1, 1)

    def part(run: int) -> Launch:
        args = keys, at, int64(total), int64(size), int64(run)
        return Launch("ordering", "ordering_part_int64", grid, block, args)

    made = [part(0)]
    run = 2 * LONGEST
    while run <= size:
        step = run // 2
        while step >= LONGEST:
            args = keys, at, int64(total), int64(size), int64(run), int64(step)
            made.append(job.spread("ordering", "ordering_step_int64", total // 2, *args))
            step //= 2
        made.append(part(run))
        run *= 2
    return made
