"""Recipes of layers of numbers of eight bits with ranges."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_folds import words
from ..recipe_levels import ends, known, shown
from ..recipe_room import Room
from .convolution import extents

__all__: list[str] = []

STEM = "quantized_layers"
GROUP = 4
"""Channels of a word."""
TILES = [("medium", 64, 256), ("small", 32, 64)]
"""Names, rows and columns, and threads, as kernels/include/gemm.cuh has them."""


@recipe("_contrib_quantized_pooling")
def pooling(job: Job) -> Recipe | None:
    """A thread for each window."""
    (shape, dtype), (out, _), attrs = job.inputs[0], job.outputs[0], job.attrs
    count = len(shape) - 2
    fills = {"kernel": 1, "stride": 1, "pad": 0}
    kernel, stride, pad = (attrs.get(name) or (fill,) * count for name, fill in fills.items())
    if attrs["global_pool"]:
        kernel, stride, pad = shape[2:], (1,) * count, (0,) * count
    axes = [(1, 1, 1, 1, 1, 0)] * (3 - count)
    axes += zip(shape[2:], out[2:], kernel, stride, (1,) * count, pad, strict=True)
    padded = attrs["count_include_pad"] is None or attrs["count_include_pad"]
    kind = int(attrs["pool_type"] == "avg"), int(padded)
    pool = words(prod(shape[:2]), *kind, *(n for axis in axes for n in axis))
    args = input_at(0), output_at(0), ends(input_at(1), input_at(2)), shown(job), pool, req(0)
    return Recipe((job.spread(STEM, f"{STEM}_pool_{dtype}", prod(out), *args),))


def tiled(job: Job, word: str, rows: int, columns: int, args: tuple[Arg, ...]) -> Launch:
    """A block for each tile of a product; one for nothing, too, which writes the range."""
    for size, extent, threads in TILES:
        tiles = -(-rows // extent) * -(-columns // extent)
        wide = min(rows, columns) > extent // 2 and tiles >= job.limits.processors
        if size == "small" or wide:
            entry = f"{STEM}_{word}_{size}_{job.inputs[0][1]}"
            return Launch(STEM, entry, (max(1, tiles), 1, 1), (threads, 1, 1), args)
    raise AssertionError("the smallest tile is for any product")


def ranges(job: Job, scaled: bool) -> tuple[Arg, Arg]:
    """The bias, and all ranges as an ``fm::Ranges``."""
    first = 2 if job.attrs["no_bias"] else 3
    given = [ends(input_at(first + 2 * i), input_at(first + 2 * i + 1)) for i in range(first)]
    given += [known(0.0, 0.0)] * (3 - first)
    bias = nothing() if first == 2 else input_at(2)
    return bias, struct(*given, int64(int(scaled)))


@recipe("_contrib_quantized_fully_connected")
def connected(job: Job) -> Recipe | None:
    """Tiles of products of bytes, four of a row at a time."""
    (out, _), (hidden, depth) = job.outputs[0], job.inputs[1][0]
    rows = job.inputs[0][0][0] if job.attrs["flatten"] else prod(out[:-1])
    bias, all_ranges = ranges(job, scaled=True)
    operands = input_at(0), input_at(1), bias, output_at(0)
    args = *operands, all_ranges, shown(job), words(rows, hidden, depth), req(0)
    return Recipe((tiled(job, "connected", rows, hidden, args),))


@recipe("_contrib_quantized_conv")
def convolution(job: Job) -> Recipe | None:
    """Tiles of products of words, which have four channels of the data, or of the weights, each."""
    shape, (filters, channels, *kernel) = job.inputs[0][0], job.inputs[1][0]
    out = job.outputs[0][0]
    g = extents(job, shape, out)
    if g is None:
        return None
    groups, room = -(-channels // GROUP), Room()

    def grouped(which: int, outer: int, inner: int) -> tuple[Launch, Arg]:
        count = outer * groups * inner
        to = room.take(count, GROUP)
        args = input_at(which), to, *map(int64, (outer, channels, inner))
        return job.spread(STEM, f"{STEM}_words_uint8", count, *args), to

    first, data = grouped(0, shape[0], prod(shape[2:]))
    second, weight = grouped(1, filters, prod(kernel))
    bias, all_ranges = ranges(job, scaled=False)
    operands = data, weight, bias, output_at(0), all_ranges, shown(job)
    field = replace(g, channels=groups).packed()
    args = *operands, field, int64(prod(out)), req(0)
    last = tiled(job, "convolve", filters, g.positions, args)
    return Recipe((first, second, last), room.bytes)
