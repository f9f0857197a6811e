"""Parts of recipes that turn indices into places, and group positions by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .recipe import Arg, Job, Launch, Shape, input_at, int64, nothing, refusal, struct, workspace
from .recipe_folds import filled, words

__all__ = ["FROM_END", "OUTSIDE", "Groups", "Rows", "groups", "out_of_bounds", "places"]

OUTSIDE = {"clip": 0, "wrap": 1, "raise": 2}
"""What an index outside of the axis stands for, as the source numbers them."""
FROM_END = 3
MOST = 2**31 - 1
"""Positions that 32 bits number."""
ALIGNED = 16
"""What follows groups in memory begins at a multiple of so many bytes."""


@dataclass(frozen=True)
class Rows:
    """`outer` blocks of `n` rows of `inner` elements, of which `count` are picked."""

    outer: int
    n: int
    inner: int
    count: int

    @classmethod
    def along(cls, shape: Shape, axis: int, count: int) -> Rows:
        """The rows of a tensor, which are numbered along `axis`."""
        return cls(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), count)

    def arg(self) -> Arg:
        """The argument of a kernel."""
        return words(self.outer, self.n, self.inner, self.count)

    @property
    def picked(self) -> int:
        """Elements of the rows that are picked."""
        return self.outer * self.count * self.inner

    @property
    def whole(self) -> int:
        """Elements of all rows."""
        return self.outer * self.n * self.inner


def places(
    job: Job,
    index: int,
    extents: Sequence[int],
    outside: int,
    refused: bool = False,
    to: Arg | None = None,
) -> Launch:
    """Turns the indices that are an input into places, at the start of temporary memory, or `to`.

    `extents` are those of the axes that the indices are for, a row of indices for each. Where there
    is no place that is -1, and `refused` with what :func:`out_of_bounds` says.
    """
    shape, dtype = job.inputs[index]
    count = prod(shape) // max(1, len(extents))
    axes = words(count, len(extents), outside, *filled(extents))
    entry = f"indices_places_{dtype}"
    told = refusal() if refused else nothing()
    return job.spread("indices", entry, count, input_at(index), to or workspace(), axes, told)


def out_of_bounds(name: str, extents: Sequence[int], first: int = 0) -> tuple[tuple[str, str], ...]:
    """What :func:`places` refuses on the axes from `first` on: :attr:`Recipe.refusals`."""
    text = "{}: index {{}} is out of bounds for axis {} with size {}"
    return tuple(("index", text.format(name, k, n)) for k, n in enumerate(extents, first))


@dataclass(frozen=True)
class Groups:
    """Launches that group positions by place, what kernels take, and all the memory until then."""

    launches: tuple[Launch, ...]
    arg: Arg
    temporary: int


def groups(job: Job, count: int, n: int) -> Groups | None:
    """Groups `count` places below `n`, which are at the start of the temporary memory.

    None where 32 bits do not number them.
    """
    if count > MOST or n >= MOST:
        return None
    sizes = [8 * count, 4 * (n + 1), 4 * count, 4 * count, 4 * count]
    at = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    found, starts, slots, members, ordered = map(workspace, at[:-1])
    number, many = int64(n), int64(count)
    block = (job.limits.threads, 1, 1)
    launches = (
        job.spread("indices", "indices_clear_int64", n + 1, starts, number),
        job.spread("indices", "indices_count_int64", count, found, starts, slots, many),
        Launch("indices", "indices_starts_int64", (1, 1, 1), block, (starts, number)),
        job.spread("indices", "indices_spread_int64", count, found, slots, starts, members, many),
        job.spread("indices", "indices_order_int64", count, found, starts, members, ordered, many),
    )
    return Groups(launches, struct(starts, ordered), -(-at[-1] // ALIGNED) * ALIGNED)
