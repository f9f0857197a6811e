"""Recipes of conversions, sums and products of csr matrices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    field,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    refusal,
    req,
    struct,
    workspace,
)
from ..recipe_folds import split
from ..recipe_lines import LONGEST, sorted_keys
from ..recipe_rows import CHECK

__all__: list[str] = []

WIDE = 8
"""Columns of an operand from which on its rows are read in whole sectors of memory."""
RUNS = 2048
"""Threads that a processor runs at once."""
THREADS = 256
MOST_COUNTING = 64
"""Blocks that count columns: each adds up what those before it found."""


def pattern(job: Job, indices: int = 1) -> Arg:
    """The structure of a matrix, an ``fm::Pattern``: two inputs, behind the values if they come."""
    room = min(job.inputs[i][0][0] for i in range(indices + 1))
    numbers = job.inputs[indices + 1][0][0] - 1, job.attrs["columns"], room
    return struct(input_at(indices), input_at(indices + 1), *map(field, numbers), refusal())


def wrong(job: Job) -> tuple[tuple[str, str], ...]:
    """What kernels refuse of it: :attr:`Recipe.refusals`."""
    name, there = job.name, f"there are {job.attrs['columns']} columns"
    row = "row {} of the csr array is no range of what is stored"
    column = f"the csr array has an element in column {{}}, but {there}"
    return tuple(("value", f"{name}: {what}; {CHECK}") for what in (row, column))


@recipe("_csr_to_dense")
def to_dense(job: Job) -> Recipe:
    """Zeros, then what is stored; whether columns grow tells if one may be there twice."""
    (rows, _), dtype = job.outputs[0]
    size, room, given = prod(job.outputs[0][0]), job.inputs[0][0][0], pattern(job)
    cleared = output_at(0), int64(size), workspace(), int64(rows), req(0)
    stored = given, input_at(0), workspace(), output_at(0), req(0)
    launches = (
        job.spread("csr", f"csr_clear_{dtype}", max(size, rows), *cleared),
        job.spread("csr", "csr_growing_int64", room, given, workspace()),
        job.spread("csr", f"csr_to_dense_{dtype}", room, *stored),
    )
    return Recipe(launches, temporary=4 * rows, refusals=wrong(job))


@recipe("_csr_sample")
def sample(job: Job) -> Recipe:
    """A thread for each element that is stored."""
    (m, n), dtype = job.inputs[2]
    down, right = 0 if m == 1 else n, int(n != 1)
    given = pattern(job, 0), input_at(2), int64(down), int64(right), output_at(0), req(0)
    launch = job.spread("csr", f"csr_sample_{dtype}", job.inputs[0][0][0], *given)
    return Recipe((launch,), refusals=wrong(job))


def summed(job: Job, name: str, width: int, *args: Arg) -> Recipe:
    """Sums over rows, for so many columns; threads share rows that are long, or few."""
    dtype, rows, room = job.inputs[0][1], job.inputs[2][0][0] - 1, job.inputs[0][0][0]
    outputs = rows * width
    full = width >= WIDE and outputs >= RUNS * job.limits.processors
    how = split(job.limits, outputs, 1 if full else room // max(rows, 1), width)
    given = pattern(job), input_at(0), *args
    launch = Launch("csr", f"csr_{name}_{dtype}", how.grid, how.block, given)
    return Recipe((launch,), refusals=wrong(job))


@recipe("_csr_row_sums")
def row_sums(job: Job) -> Recipe:
    """Sums of what is stored."""
    return summed(job, "row_sums", 1, output_at(0), req(0))


@recipe("_csr_dot")
def dot(job: Job) -> Recipe | None:
    """Rows of the product."""
    width = prod(job.inputs[3][0][1:])
    if job.attrs["transpose"]:
        return transposed(job, width)
    return summed(job, "dot", width, input_at(3), output_at(0), int64(width), req(0))


@dataclass(frozen=True)
class Columns:
    """Elements in order by their columns, in the temporary memory: columns, which elements these
    are, `size` of both, a power of two above their number, and the row of each element."""

    pattern: Arg
    room: int
    size: int

    @classmethod
    def of(cls, job: Job) -> Columns | None:
        """Those of the first inputs; None where 32 bits do not number them, or the rows."""
        room = min(job.inputs[0][0][0], job.inputs[1][0][0])
        size = max(LONGEST, 1 << room.bit_length())
        if max(size, job.inputs[2][0][0]) >= 1 << 31:
            return None
        return cls(pattern(job), room, size)

    @property
    def parts(self) -> tuple[Arg, Arg, Arg]:
        """Columns, elements and rows."""
        return workspace(), workspace(8 * self.size), workspace(12 * self.size)

    @property
    def end(self) -> int:
        """The bytes that these take, in whole words."""
        return 12 * self.size + 4 * (self.room + self.room % 2)

    def launches(self, job: Job) -> list[Launch]:
        """What puts them in order."""
        keys, at, rows = self.parts
        given = self.pattern, keys, at, rows, int64(self.size)
        found = job.spread("csr_transposed", "csr_transposed_keys_int64", self.size, *given)
        return [found, *sorted_keys(job, keys, at, self.size, self.size)]

    def product(self, job: Job, starts: Arg, count: int, number: Arg, width: int) -> Launch:
        """Sums over columns: `count` of them at most, or the number that is in memory."""
        _, at, rows = self.parts
        given = starts, at, rows, input_at(0), input_at(3), output_at(0), number, int64(count)
        entry = f"csr_transposed_dot_{job.inputs[0][1]}"
        args = *given, int64(width), req(0)
        return job.spread("csr_transposed", entry, count * width, *args)


def transposed(job: Job, width: int) -> Recipe | None:
    """Sums over the columns, all of them."""
    ordered, columns = Columns.of(job), job.attrs["columns"]
    if ordered is None:
        return None
    starts = workspace(ordered.end)
    given = workspace(), int64(ordered.size), starts, int64(columns)
    find = job.spread("csr_transposed", "csr_transposed_starts_int64", columns + 1, *given)
    last = ordered.product(job, starts, columns, nothing(), width)
    temporary = ordered.end + 4 * (columns + 1)
    launches = *ordered.launches(job), find, last
    return Recipe(launches, temporary=temporary, refusals=wrong(job))


@recipe("_csr_dot_rows")
def dot_rows(job: Job) -> Recipe | None:
    """Sums over the columns that have elements; how many these are stays on the device."""
    ordered = Columns.of(job)
    if ordered is None:
        return None
    (room,), _ = job.outputs[1]
    blocks = min(MOST_COUNTING, job.blocks(ordered.size, THREADS))
    kept, counts = workspace(ordered.end), workspace(ordered.end + 8)
    starts = workspace(ordered.end + 8 + 8 * blocks)
    grid, block, keys = (blocks, 1, 1), (1, THREADS, 1), (workspace(), int64(ordered.size))
    given = *keys, counts, starts, output_at(1), output_at(2), int64(room), kept, refusal()
    launches = (
        *ordered.launches(job),
        Launch("csr_transposed", "csr_transposed_count_int64", grid, block, (*keys, counts)),
        Launch("csr_transposed", "csr_transposed_found_int64", grid, block, given),
        ordered.product(job, starts, room, kept, prod(job.inputs[3][0][1:])),
    )
    many = f"{job.name}: {{}} rows are not zero, but there is room for {room}"
    temporary = ordered.end + 8 * (1 + blocks) + 4 * (room + 1)
    return Recipe(launches, temporary=temporary, refusals=(*wrong(job), ("value", many)))
