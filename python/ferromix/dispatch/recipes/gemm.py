"""Which tiles products of matrices take, how many blocks share a depth, and sums of biases."""

from __future__ import annotations

from dataclasses import dataclass

from ..recipe import (
    Job,
    Launch,
    Limits,
    input_at,
    int64,
    output_at,
    req,
    struct,
    workspace,
)

__all__ = ["WIDTH", "Split", "channel_sums", "split"]

WIDTH = {"float32": 4, "float64": 8, "float16": 4, "bfloat16": 4}
"""Bytes of a sum."""

LEAST_DEPTH = 128
"""What a block sums at least where several share a tile."""
MOST_PARTS = 64


@dataclass(frozen=True)
class Split:
    """How a product of `count` pairs of matrices is shared.

    Parameters
    ----------
    size
        The tile, as entry points name it.
    threads
        Those of a block.
    tiles
        How many tiles a product has.
    parts
        How many blocks share the depth of a tile.
    """

    size: str
    threads: int
    tiles: int
    parts: int


TILES = [("large", 128, 256), ("medium", 64, 256), ("small", 32, 64)]
"""Names, rows and columns, and threads, as kernels/include/gemm.cuh has them."""


def split(limits: Limits, dtype: str, m: int, n: int, depth: int, count: int) -> Split:
    """The largest tile that is not mostly empty and whose blocks fill the device.

    Blocks that share the depth help to fill it; their sums are joined afterwards.
    """
    most = max(1, min(depth // LEAST_DEPTH, MOST_PARTS))
    for size, extent, threads in TILES:
        tiles = -(-m // extent) * -(-n // extent)
        blocks = tiles * count
        wide = min(m, n) > extent // 2 and blocks * most >= limits.processors
        if extent == 32 or (wide and (size, dtype) != ("large", "float64")):
            parts = min(most, -(-limits.processors // max(blocks, 1)))
            return Split(size, threads, tiles, parts)
    raise AssertionError("the smallest tile is for any product")


MAX_RANK = 8
COLUMNS, MOST_THREADS = 32, 256


def channel_sums(
    job: Job, data: int, out: int, shape: tuple[int, int, int]
) -> tuple[list[Launch], int]:
    """Launches for the sums over all but the middle axis, and bytes of their temporary memory."""
    outer, channels, inner = shape
    dtype = job.inputs[data][1]
    # Neighbours in memory belong to neighbouring threads.
    wide = min(COLUMNS, job.limits.threads) if inner == 1 else 1
    deep = MOST_THREADS // COLUMNS if inner == 1 else MOST_THREADS
    blocks, count = -(-channels // wide), outer * inner
    parts = max(1, min(64, count // (4 * deep), -(-job.limits.processors // max(blocks, 1))))
    axes = [(channels,), (outer, inner), (inner,), (1,), (channels * inner, 1)]
    words = [n for axis in axes for n in (*axis, *[0] * (MAX_RANK - len(axis)))]
    walk = struct(*map(int64, (channels, count, 1, 2, *words)))
    grid, block = (min(blocks, 1 << 20), parts, 1), (wide, deep, 1)
    if channels == 0:
        return [], 0
    entry, args = f"reduce_sum_{dtype}", (output_at(out), workspace(), walk, req(out))
    launches = [Launch("reduce", entry, grid, block, (input_at(data), *args))]
    if parts > 1:
        last = workspace(), output_at(out), int64(parts), walk, req(out)
        launches.append(job.spread("reduce", f"{entry}_finish", channels, *last))
    return launches, parts * channels * WIDTH[dtype] * (parts > 1)
