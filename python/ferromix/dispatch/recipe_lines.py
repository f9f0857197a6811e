"""Parts of recipes over lines of elements, and the conversion of what they found."""

from __future__ import annotations

from math import prod

from .recipe import Arg, Job, Launch, Shape, output_at, req
from .recipe_folds import flat_walk

__all__ = ["convert", "lines_of"]


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
