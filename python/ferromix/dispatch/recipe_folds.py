"""What recipes share: how arrays without gaps lie, and how threads share folds."""

from __future__ import annotations

import struct as packing
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..ops.card import Shape
from .recipe import (
    Arg,
    Job,
    Launch,
    Limits,
    Recipe,
    field,
    input_at,
    nothing,
    output_at,
    req,
    workspace,
)

__all__ = [
    "MAX_RANK",
    "WIDEST",
    "Split",
    "along",
    "axes_of",
    "filled",
    "flat_walk",
    "fold",
    "folded",
    "packed_walk",
    "rows_split",
    "split",
    "strides_of",
    "words",
]

MAX_RANK = 8
"""Axes that a kernel walks along at most."""
MOST_THREADS = 1024
FULL = 8
"""Blocks that a processor runs at once, if they have the ordinary number of threads."""
FOLD_THREADS = 256
"""Threads of a block of ``fm::fold`` at most."""
SHARE = 16
"""Elements that a thread folds at least before blocks share an output."""
LANES = {"float32": 4, "int32": 4, "float64": 2, "int64": 2}
"""Elements that a fold loads as one where they lie side by side; eight of the smaller types."""
LOADS = 4
"""Of those, how many a thread has under way at once; twice as many single elements."""
WIDEST = 8
"""Bytes of the widest type that kernels compute in."""


def strides_of(shape: Shape) -> list[int]:
    """Elements from one to the next along each axis of an array without gaps."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _merged(shape: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[list[int], list[list]]:
    """Extents and, for each operand, strides, with neighbouring axes made one where all have them
    without a gap between."""
    extents: list[int] = []
    columns: list[list[int]] = []
    for extent, *steps in zip(shape, *rows, strict=True):
        if extent == 1:
            continue
        if columns and all(o == extent * s for o, s in zip(columns[-1], steps, strict=True)):
            extents[-1] *= extent
            columns[-1] = steps
        else:
            extents.append(extent)
            columns.append(steps)
    return extents, [[column[j] for column in columns] for j in range(len(rows))]


def filled(values: Sequence[int]) -> list[int]:
    """Numbers for as many axes as a struct of the sources has."""
    return [*values, *[0] * (MAX_RANK - len(values))]


def words(*values: int) -> Arg:
    """A struct of ``int64``, filled in here and now."""
    return "bytes", packing.pack(f"={len(values)}q", *values)


def packed_walk(shape: Shape, *rows: Sequence[int]) -> Arg | None:
    """An ``fm::Walk`` whose operands do not broadcast by their shapes alone.

    Parameters
    ----------
    shape
        That of the output.
    rows
        For each operand, the output first, the elements from one to the next along each axis of
        `shape`; 0 where it repeats.

    Returns
    -------
    None where more axes are left than kernels take.
    """
    extents, steps = _merged(shape, rows)
    if len(extents) > MAX_RANK:
        return None
    plain = strides_of(tuple(extents))
    flat = sum(1 << j for j, row in enumerate(steps) if row == plain)
    single = sum(1 << j for j, row in enumerate(steps) if row != plain and not any(row))
    if flat | single == (1 << len(rows)) - 1:
        return words(prod(shape), 0, flat, single, *[0] * (MAX_RANK * (1 + len(rows))))
    numbers = [n for row in steps for n in filled(row)]
    return words(prod(shape), len(extents), 0, 0, *filled(extents), *numbers)


def flat_walk(count: int) -> Arg:
    """An ``fm::Walk`` over one input and an output of the same shape."""
    return words(count, 0, 0b11, 0, *[0] * (MAX_RANK * 3))


def along(outer: int, count: int, inner: int) -> Arg:
    """An ``fm::Along``."""
    return words(outer, count, inner)


def axes_of(job: Job, rank: int) -> list[bool]:
    """For each axis, whether the attributes `axis` and `exclude` name it."""
    given = job.attrs.get("axis")
    axes = [given] if isinstance(given, int) else list(given or ())
    if not axes:
        return [True] * rank
    named = {axis % rank for axis in axes}
    return [(axis in named) != bool(job.attrs.get("exclude")) for axis in range(rank)]


@dataclass(frozen=True)
class Split:
    """How many blocks along x, how many that share outputs along y, and the threads of each."""

    blocks: int
    parts: int
    block: tuple[int, int, int]

    @property
    def grid(self) -> tuple[int, int, int]:
        """That of the launch."""
        return self.blocks, self.parts, 1


def _power(count: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, count - 1).bit_length()


def _power_below(count: int) -> int:
    """The greatest power of two that is not above a number."""
    return 1 << max(0, count.bit_length() - 1)


def split(limits: Limits, outputs: int, count: int, side: int, shared: bool = False) -> Split:
    """How threads share `outputs` of `count` elements each.

    Threads along x have outputs of their own, threads along y, a power of two, share those. So a
    warp reads neighbours in memory, be they elements of several outputs or of one.

    Parameters
    ----------
    side
        Outputs whose elements lie side by side; 1 where those of one output do.
    shared
        Whether blocks may share an output, too; otherwise few outputs get larger blocks.
    """
    threads = limits.threads
    if not shared and outputs < limits.processors:
        threads = min(MOST_THREADS, 4 * threads)
    wide = min(32, _power(min(side, outputs)))
    most = 1 << ((threads // wide).bit_length() - 1)
    deep = min(most, _power(count))
    wide = threads // deep
    blocks = max(1, min(-(-outputs // wide), 32 * limits.processors))
    room = FULL * limits.processors // blocks
    parts = max(1, min(room, -(-count // (deep * SHARE)))) if shared else 1
    return Split(blocks, parts, (wide, deep, 1))


def rows_split(limits: Limits, count: int, length: int, kept: int) -> Split:
    """How threads share `count` rows, each of which a thread keeps `kept` elements of; long ones
    get as many threads as there are."""
    most = min(MOST_THREADS, 4 * limits.threads)
    deep = min(_power_below(most), _power(-(-length // kept)))
    wide = max(1, limits.threads // deep)
    blocks = max(1, min(-(-count // wide), 32 * limits.processors))
    return Split(blocks, 1, (wide, deep, 1))


@dataclass(frozen=True)
class Folded:
    """An array without gaps whose axes are reduced in part.

    Parameters
    ----------
    walk
        An ``fm::FoldWalk``.
    outputs, count
        How many results there are, each of so many elements.
    side
        Results whose elements lie side by side; 1 where those of one do.
    run
        How many elements lie side by side, of one result or of several.
    """

    walk: Arg
    outputs: int
    count: int
    side: int
    run: int


def folded(shape: Shape, reduced: Sequence[bool]) -> Folded | None:
    """How elements become results without gaps; None where more axes are left than kernels take."""
    kept_shape = tuple(n for n, r in zip(shape, reduced, strict=True) if not r)
    places = iter(strides_of(kept_shape))
    # The output repeats along reduced axes, so that these never merge with those that are kept.
    target = [0 if r else next(places) for r in reduced]
    extents, (data, out) = _merged(shape, [strides_of(shape), target])
    kept = [i for i, step in enumerate(out) if step]
    gone = [i for i, step in enumerate(out) if not step]
    if max(len(kept), len(gone)) > MAX_RANK:
        return None
    outputs = prod(kept_shape)
    count = prod(n for n, r in zip(shape, reduced, strict=True) if r)
    lists = [(extents, kept), (extents, gone), (data, kept), (out, kept), (data, gone)]
    numbers = [n for values, which in lists for n in filled([values[i] for i in which])]
    side = extents[-1] if kept and kept[-1] == len(extents) - 1 else 1
    layout = words(outputs, count, len(kept), len(gone), *numbers)
    return Folded(layout, outputs, count, side, extents[-1] if extents else 1)


def _shares(limits: Limits, found: Folded, dtype: str) -> Split:
    """How the threads of ``fm::fold`` share elements of a type.

    Where one result's elements lie side by side, it gets as many threads as load them at once; else
    threads have results side by side, and share those where they would be too few.
    """
    lanes = LANES.get(dtype, 8)
    lanes = 1 if found.run % lanes else lanes
    threads, most = min(limits.threads, FOLD_THREADS), FULL * limits.processors
    outputs, each = found.outputs, SHARE
    if found.side > 1:
        outputs //= lanes
        wide = min(32, _power(outputs))
        idle = _power_below(max(1, most * threads // max(1, outputs)))
        deep = min(_power_below(threads // wide), idle, _power(found.count))
    else:
        each = lanes * LOADS if lanes > 1 else 2 * LOADS
        deep = min(_power_below(threads), _power(-(-found.count // each)))
    wide = threads // deep
    blocks = max(1, min(-(-outputs // wide), 32 * limits.processors))
    parts = max(1, min(most // blocks, -(-found.count // (deep * each))))
    return Split(blocks, parts, (wide, deep, 1))


def _joins(limits: Limits, outputs: int, parts: int) -> Split:
    """How the threads of ``fm::finish`` share what so many blocks found for each output."""
    wide = min(32, _power(outputs))
    deep = min(_power_below(limits.threads // wide), _power(parts))
    wide = limits.threads // deep
    blocks = max(1, min(-(-outputs // wide), 32 * limits.processors))
    return Split(blocks, 1, (wide, deep, 1))


def fold(
    job: Job,
    stem: str,
    entry: str,
    shape: Shape,
    reduced: Sequence[bool],
    number: int = 0,
    data: Arg | None = None,
    to: Arg | None = None,
) -> Recipe | None:
    """The launches of a fold over axes: of the first input into an output, by default the first, or
    of `data` to a place by the request for that output.

    Where outputs are few, blocks share each of them by way of temporary memory, and the entry
    point with ``_finish`` joins what they found.
    """
    data, out = data or input_at(0), to or output_at(number)
    found = folded(shape, reduced)
    if found is None:
        return None
    how = _shares(job.limits, found, entry.rpartition("_")[2])
    partial = workspace() if how.parts > 1 else nothing()
    rest = found.walk, req(number)
    given = data, out, partial, *rest
    first = Launch(stem, entry, how.grid, how.block, given)
    if how.parts == 1:
        return Recipe((first,))
    given = partial, out, field(how.parts), *rest
    join = _joins(job.limits, found.outputs, how.parts)
    last = Launch(stem, f"{entry}_finish", join.grid, join.block, given)
    return Recipe((first, last), temporary=how.parts * found.outputs * WIDEST)
