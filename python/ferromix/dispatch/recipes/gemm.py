"""Which tiles products of matrices take, and how many blocks share the depth of one."""

from __future__ import annotations

from dataclasses import dataclass

from ..recipe import Limits

__all__ = ["WIDTH", "Split", "split"]

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


TILES = [("large", 128, 256, 1), ("medium", 64, 256, 2), ("small", 32, 64, 8)]
"""Names, rows and columns, threads, and blocks that a processor runs at once, as
kernels/include/gemm.cuh has them."""
TENSOR_THREADS = 256
"""Those of tiles that tensor cores multiply."""


def split(limits: Limits, dtype: str, m: int, n: int, depth: int, count: int) -> Split:
    """The largest tile that is not mostly empty and whose blocks fill the device.

    Blocks that share the depth help to fill it; their sums are joined afterwards.
    """
    most = max(1, min(depth // LEAST_DEPTH, MOST_PARTS))
    for size, extent, threads, resident in TILES:
        tiles = -(-m // extent) * -(-n // extent)
        blocks = tiles * count
        wide = min(m, n) > extent // 2 and blocks * most >= limits.processors
        if extent == 32 or (wide and (size, dtype) != ("large", "float64")):
            room = limits.processors * resident
            parts = max(1, min(most, room // max(blocks, 1)))
            rounded = limits.tf32 and dtype == "float32" and threads == TENSOR_THREADS
            return Split(f"tf32_{size}" if rounded else size, threads, tiles, parts)
    raise AssertionError("the smallest tile is for any product")
