"""Parts of recipes in which threads share lines of elements, or convert what they found."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .recipe import Arg, Job, Launch, Shape, int64, output_at, req, struct
from .recipe_affine import strides
from .recipe_indices import MAX_RANK, padded

__all__ = ["along", "convert", "fold_walk", "lines_of", "power_below", "shared"]

WARP = 32
Size = tuple[int, int, int]


def power_below(number: int) -> int:
    """The greatest power of two that is not above a number."""
    return 1 << (max(1, number).bit_length() - 1)


def lines_of(shape: Shape, axis: int | None) -> tuple[int, int, int]:
    """An array as (outer, extent, inner) around an axis; one line where that is None."""
    if axis is None or not shape:
        return 1, prod(shape), 1
    axis %= len(shape)
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def along(outer: int, count: int, inner: int) -> Arg:
    """An ``fm::Along``."""
    return struct(int64(outer), int64(count), int64(inner))


def shared(job: Job, outputs: int, count: int, side: int) -> tuple[Size, Size]:
    """Grid and block where threads along y, a power of two, share an output of `count` elements.

    Parameters
    ----------
    side
        How many outputs have their elements side by side; 1 where those of one output do.
    """
    threads = power_below(job.limits.threads)
    wide = min(WARP, power_below(min(side, outputs)), threads)
    deep = min(threads // wide, 2 * power_below(count))
    wide = threads // deep
    return (job.blocks(outputs, wide), 1, 1), (wide, deep, 1)


def fold_walk(shape: Shape, reduced: Sequence[bool]) -> Arg | None:
    """An ``fm::FoldWalk`` of an array without gaps; None by too many axes."""
    steps = strides(shape)
    axes = list(zip(shape, steps, reduced, strict=True))
    kept = [(n, step) for n, step, gone in axes if not gone and n != 1]
    gone = [(n, step) for n, step, is_gone in axes if is_gone and n != 1]
    if max(len(kept), len(gone)) > MAX_RANK:
        return None
    extents = tuple(n for n, _ in kept)
    counts = prod(n for n, _, g in axes if not g), prod(n for n, _, g in axes if g)
    lists = (
        extents,
        [n for n, _ in gone],
        [step for _, step in kept],
        strides(extents),
        [step for _, step in gone],
    )
    parts = [part for numbers in lists for part in padded(numbers)]
    return struct(*map(int64, (*counts, len(kept), len(gone))), *parts)


def convert(job: Job, source: Arg, dtype: str, output: int) -> Launch:
    """Numbers of a type, without gaps, to an output, whose request they follow."""
    shape, to = job.outputs[output]
    count = prod(shape)
    layout = struct(*map(int64, (count, 0, 0b11, 0)), *padded(()), *padded(()), *padded(()))
    entry = f"elemwise_Cast_{dtype}_{to}"
    return job.spread("elemwise", entry, count, source, output_at(output), layout, req(output))
