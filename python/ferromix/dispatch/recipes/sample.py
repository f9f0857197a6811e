"""Recipes of random tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, frexp, inf, isfinite, ldexp, nextafter, prod

from ...ops.family import FLOATS
from ..recipe import Arg, Job, Recipe, draws, float64, int64, output_at, recipe, req

__all__: list[str] = []

FORMATS = {
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
}
"""Bits of the significand, and the exponents of the least number and of the first one too large."""


@recipe("_random_uniform")
def uniform(job: Job) -> Recipe | None:
    """Numbers in an interval, kept within it after they are rounded."""
    low, high = float(job.attrs["low"]), float(job.attrs["high"])
    dtype = job.outputs[0][1]
    if dtype not in FLOATS or not (isfinite(low) and isfinite(high)):
        return None
    return sampled(job, "uniform", *map(float64, (low, high, *outermost(low, high, dtype))))


@recipe("_random_normal")
def normal(job: Job) -> Recipe | None:
    """Numbers of a mean and a deviation."""
    if job.outputs[0][1] not in FLOATS:
        return None
    return sampled(job, "normal", job.number("loc"), job.number("scale"))


def sampled(job: Job, word: str, *numbers: Arg) -> Recipe:
    """One launch, with a thread for each block of random words."""
    shape, dtype = job.outputs[0]
    count = prod(shape)
    blocks = -(-count // (2 if dtype == "float64" else 4))
    given = output_at(0), int64(count), *numbers, draws(), req(0)
    return Recipe((job.spread("sample", f"sample_{word}_{dtype}", blocks, *given),))


def outermost(low: float, high: float, dtype: str) -> tuple[float, float]:
    """The least and the greatest number of a type in [low, high), or twice the one nearest to
    `low` if there is none."""
    least = _to_grid(low, dtype, ceil)
    greatest = _to_grid(nextafter(high, -inf), dtype, floor)
    nearest = _to_grid(low, dtype, round)
    return (least, greatest) if least <= greatest else (nearest, nearest)


def _to_grid(x: float, dtype: str, rounding: Callable[[float], int]) -> float:
    """A finite number of a type beside `x`."""
    bits, tiny, huge = FORMATS[dtype]
    most = ldexp(1 - 2.0**-bits, huge)
    x = max(-most, min(most, x))
    step = max(frexp(x)[1] - bits, tiny)
    return ldexp(float(rounding(ldexp(x, -step))), step)
