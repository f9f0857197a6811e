"""Recipes of real numbers as whole ones of eight bits, for a range, and back."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    float32,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_levels import BYTES, calibrated, copied, ends, flat, known, moved, shown

__all__: list[str] = []

LEVELS = {"int8": 127.5, "uint8": 255.5}
WHOLE = {"int8": 127.0, "uint8": 255.0}
"""What stands for the magnitude of a range that data have, and of one that comes with them."""
PARTS = 256
"""Blocks that look for bounds at most."""


def bounds(job: Job, dtype: str) -> tuple[tuple[Launch, ...], Arg, Arg, int]:
    """The least and the greatest element of the first input: launches, both, and the memory."""
    count, threads = prod(job.inputs[0][0]), 1 << (job.limits.threads.bit_length() - 1)
    parts = min(PARTS, job.blocks(count, threads))
    low, high, found = workspace(8), workspace(8 + 4 * parts), (workspace(0), workspace(4))

    def look(blocks: int, *args: Arg) -> Launch:
        entry, block = f"quantize_bounds_{dtype}", (1, threads, 1)
        return Launch("quantize", entry, (blocks, 1, 1), block, args)

    first = look(parts, input_at(0), input_at(0), int64(count), low)
    launches = first, look(1, low, high, int64(parts), found[0])
    return launches, *found, 8 * (parts + 1)


def quantized(job: Job, entry: str, rest: tuple[Arg, ...], given: Arg | None = None) -> Recipe:
    """Numbers for a range that is given, or for that of the data."""
    before, temporary = (), 0
    if given is None:
        before, low, high, temporary = bounds(job, "float32")
        given = ends(low, high)
    count = prod(job.outputs[0][0])
    args = input_at(0), output_at(0), given, shown(job), flat(count), *rest, req(0)
    return Recipe((*before, job.spread("quantize", entry, count, *args)), temporary)


@recipe("_contrib_quantize")
def quantize(job: Job) -> Recipe | None:
    """A range that comes with the data has whole levels, as in MXNet."""
    dtype = job.outputs[0][1]
    if dtype not in BYTES:
        return None
    given = ends(input_at(1), input_at(2))
    return quantized(job, f"quantize_real_{dtype}", (float32(WHOLE[dtype]),), given)


@recipe("_contrib_quantize_v2")
def quantize_v2(job: Job) -> Recipe | None:
    """Numbers of eight bits stay what they are."""
    (_, source), (shape, dtype), range_of = job.inputs[0], job.outputs[0], calibrated(job)
    if dtype not in BYTES:
        return None
    if source == "float32":
        given = None if range_of is None else known(*range_of)
        return quantized(job, f"quantize_real_{dtype}", (float32(LEVELS[dtype]),), given)
    whole = (0.0, LEVELS["uint8"]) if source == "uint8" else (-LEVELS["int8"], LEVELS["int8"])
    given = known(*(range_of or whole))
    return Recipe((copied(job, prod(shape)), moved(job, given)))


@recipe("_contrib_quantize_asym")
def asymmetric(job: Job) -> Recipe | None:
    """Numbers by a factor and a shift."""
    range_of = calibrated(job)
    given = None if range_of is None else known(*range_of)
    return quantized(job, "quantize_asym_uint8", (), given)


@recipe("_contrib_dequantize")
def dequantize(job: Job) -> Recipe | None:
    """Real numbers."""
    shape, dtype = job.inputs[0]
    if dtype not in BYTES:
        return None
    count, given = prod(shape), ends(input_at(1), input_at(2))
    args = input_at(0), output_at(0), given, flat(count), req(0)
    return Recipe((job.spread("quantize", f"quantize_back_{dtype}", count, *args),))


@recipe("_contrib_requantize")
def requantize(job: Job) -> Recipe | None:
    """Sums as numbers of eight bits, for a range that is known, or for that of the sums."""
    (shape, dtype), range_of = job.outputs[0], calibrated(job)
    if dtype not in BYTES:
        return None
    before, found, temporary, most = (), nothing(), 0, 0.0
    if range_of is None:
        before, found, _, temporary = bounds(job, "int32")
    else:
        most = max(map(abs, range_of))
    count, given = prod(shape), ends(input_at(1), input_at(2))
    rest = given, found, float32(most), shown(job), flat(count)
    args = input_at(0), output_at(0), *rest, req(0)
    return Recipe(
        (*before, job.spread("quantize", f"quantize_sums_{dtype}", count, *args)), temporary
    )
