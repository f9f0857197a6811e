"""Parts of recipes on the parts of row_sparse arrays."""

from __future__ import annotations

from .recipe import Arg, Job, field, input_at, struct

__all__ = ["listed"]


def listed(job: Job, first: int, height: int) -> Arg:
    """Numbers of rows below `height` and their count, inputs from `first` on: an ``fm::Listed``."""
    room = job.inputs[first][0][0]
    return struct(input_at(first), input_at(first + 1), field(room), field(height))
