"""Recipes of elements in order."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import words
from ..recipe_lines import LONGEST, convert, lines_of, sorted_keys
from ..recipe_room import Room

__all__ = ["best"]


@recipe("sort")
def sort(job: Job) -> Recipe | None:
    """All elements."""
    return ordered(job, 0, values=0)


@recipe("argsort")
def argsort(job: Job) -> Recipe | None:
    """Their places."""
    return ordered(job, 0, places=0)


@recipe("topk")
def topk(job: Job) -> Recipe | None:
    """Those that come first, their places, or a mask of them."""
    kind, first = job.attrs["ret_typ"], job.attrs["k"]
    if kind == "both":
        return ordered(job, first, values=0, places=1)
    word = {"value": "values", "indices": "places", "mask": "mask"}[kind]
    return ordered(job, first, **{word: 0})


def ordered(
    job: Job,
    first: int,
    values: int | None = None,
    places: int | None = None,
    mask: int | None = None,
) -> Recipe | None:
    """A block for each line, or many; the numbers are those of the outputs."""
    shape, dtype = job.inputs[0]
    outer, count, inner = lines_of(shape, job.attrs["axis"])
    most = count if first < 1 else first
    numbers = outer, count, inner, most, not job.attrs["is_ascend"]
    ends = [nothing() if k is None else output_at(k) for k in (values, mask)]
    reqs = [int32(0) if k is None else req(k) for k in (values, mask)]
    found = nothing() if places is None else workspace()
    room = 0 if places is None else 8 * prod(job.outputs[places][0])
    last = () if places is None else (convert(job, workspace(), "int64", places),)
    lines = Lines(input_at(0), dtype, outer * inner, count, words(*numbers))
    made = sorted_lines(job, lines, (ends[0], found, ends[1]), reqs, room)
    if made is None:
        return None
    return Recipe((*made[0], *last), made[1])


@dataclass(frozen=True)
class Lines:
    """Lines of elements of a type; `order` is the ``fm::Order``."""

    data: Arg
    dtype: str
    number: int
    count: int
    order: Arg

    @property
    def size(self) -> int:
        """The keys of a line that shared memory does not hold, a power of two."""
        return 1 << (self.count - 1).bit_length()

    @property
    def total(self) -> int:
        """Those of all."""
        return self.number * self.size


Sorted = tuple[list[Launch], int]
"""Launches, and bytes of temporary memory with what was there before."""


def best(
    job: Job, room: Room, marks: Arg, dtype: str, ends: tuple[int, int, int]
) -> tuple[Arg, list[Launch]] | None:
    """The places of the greatest marks of each line, as ``int64`` in temporary memory, and how.

    `ends` are lines, marks of each, and how many are wanted. Equal ones keep their order.
    """
    number, count, most = ends
    lines = Lines(marks, dtype, number, count, words(number, count, 1, most, 1))
    order = room.take(number * most, 8)
    given = nothing(), order, nothing()
    made = sorted_lines(job, lines, given, [int32(0), int32(0)], room.bytes)
    if made is None:
        return None
    room.take(made[1] - room.bytes, 1)
    return order, made[0]


def sorted_lines(
    job: Job, lines: Lines, ends: tuple[Arg, Arg, Arg], reqs: list[Arg], room: int
) -> Sorted | None:
    """A block for each line, or many; `ends` are values, places and mask."""
    if lines.count > LONGEST:
        made = long(job, lines, ends, reqs, room)
        return None if made is None else (made, room + 12 * lines.total)
    args = lines.data, *ends, lines.order, *reqs
    grid, block = (job.blocks(lines.number, 1), 1, 1), (job.limits.threads, 1, 1)
    return [Launch("ordering", f"ordering_{lines.dtype}", grid, block, args)], room


def long(
    job: Job, lines: Lines, ends: tuple[Arg, Arg, Arg], reqs: list[Arg], room: int
) -> list[Launch] | None:
    """Keys in memory behind what is there, sorted in parts, and then by ever longer runs.

    None where 32 bits do not number the places.
    """
    if lines.size >= 1 << 31:
        return None
    dtype, size = lines.dtype, int64(lines.size)
    keys, at = workspace(room), workspace(room + 8 * lines.total)
    given = lines.data, keys, at, lines.order, size
    made = [job.spread("ordering", f"ordering_keys_{dtype}", lines.total, *given)]
    made += sorted_keys(job, keys, at, lines.total, lines.size)
    given = lines.data, at, *ends, lines.order, size, *reqs
    entry = f"ordering_write_{dtype}"
    made.append(job.spread("ordering", entry, lines.number * lines.count, *given))
    return made
