"""Parts of recipes on the parts of row_sparse arrays."""

from __future__ import annotations

from .recipe import Arg, Job, field, input_at, struct

__all__ = ["ANY", "CHECK", "listed", "wrong_rows"]

ANY = 2**63 - 1
"""More rows than an array can have, where nobody says how many there are."""

CHECK = "check_format() tells whether a structure is right"


def listed(job: Job, first: int, height: int) -> Arg:
    """Numbers of rows below `height` and their count, inputs from `first` on: an ``fm::Listed``."""
    room = job.inputs[first][0][0]
    return struct(input_at(first), input_at(first + 1), field(room), field(height))


def wrong_rows(job: Job, first: int, height: int) -> tuple[tuple[str, str], ...]:
    """What kernels refuse of these: :attr:`Recipe.refusals`."""
    room, name = job.inputs[first][0][0], job.name
    there = "the row_sparse array has a row {}"
    there += "" if height == ANY else f", but there are {height} rows"
    return (
        ("value", f"{name}: {{}} rows of {room} are in use"),
        ("value", f"{name}: {there}; {CHECK}"),
    )
