"""Recipes of sums, products, extremes and norms over axes, and of what broadcasts them back."""

from __future__ import annotations

from math import prod

from ...ops.family import ALL_TYPES, NUMBERS
from ..recipe import (
    WRITE,
    Arg,
    Job,
    Recipe,
    float64,
    input_at,
    output_at,
    recipe,
    req,
    workspace,
)
from ..recipe_folds import axes_of, flat_walk, fold, packed_walk, strides_of
from .elemwise import elementwise

__all__: list[str] = []

PRECISION = {"float16": 11, "bfloat16": 8}
"""Bits of what counts must be exact in; they are few in halves alone."""


@recipe("sum", "mean", "prod", "nansum", "nanprod", "max", "min")
def reduction(job: Job) -> Recipe | None:
    """A fold over axes."""
    return reduced(job, job.name)


@recipe("norm")
def norm(job: Job) -> Recipe | None:
    """A norm of the first or second order."""
    order = job.attrs.get("ord")
    return reduced(job, f"norm{2 if order is None else order}")


def reduced(job: Job, word: str) -> Recipe | None:
    """A fold over the axes that attributes name."""
    shape, dtype = job.inputs[0]
    if dtype not in ALL_TYPES or job.outputs[0][1] != dtype:
        return None
    return fold(job, "reduce", f"reduce_{word}_{dtype}", shape, axes_of(job, len(shape)))


@recipe("_sum_like")
def sum_like(job: Job) -> Recipe | None:
    """A sum over the axes along which the second input would be broadcast to the first."""
    (shape, dtype), (like, _) = job.inputs
    if dtype not in ALL_TYPES or job.outputs[0][1] != dtype:
        return None
    lead = len(shape) - len(like)
    gone = [a < lead or (like[a - lead] == 1 and n != 1) for a, n in enumerate(shape)]
    return fold(job, "reduce", f"reduce_sum_{dtype}", shape, gone)


@recipe("broadcast_to")
def broadcast_to(job: Job) -> Recipe | None:
    """A copy that repeats."""
    return elementwise(job, "elemwise", "copy", types=ALL_TYPES)


@recipe("_broadcast_back")
def broadcast_back(job: Job) -> Recipe | None:
    """The gradient of a sum or mean: what was reduced, repeated along the axes, perhaps divided."""
    (small, dtype), (shape, _) = job.inputs
    mean = bool(job.attrs.get("mean"))
    if dtype not in (NUMBERS if mean else ALL_TYPES) or job.outputs[0][1] != dtype:
        return None
    gone = axes_of(job, len(shape))
    left = strides_of(small)
    if len(small) == len(shape):
        left = [step for step, r in zip(left, gone, strict=True) if not r]
    steps = iter(left)
    layout = packed_walk(shape, strides_of(shape), [0 if r else next(steps) for r in gone])
    if layout is None:
        return None
    total, out = prod(shape), output_at(0)
    if not mean:
        launch = job.spread(
            "elemwise", f"elemwise_copy_{dtype}", total, input_at(0), out, layout, req(0)
        )
        return Recipe((launch,))
    count = prod(n for n, r in zip(shape, gone, strict=True) if r)
    if count > 2 ** PRECISION.get(dtype, 64):
        return divided_in_float32(job, count, layout)
    given = input_at(0), out, float64(float(count)), layout, req(0)
    return Recipe((job.spread("scalar", f"scalar_div_{dtype}", total, *given),))


def divided_in_float32(job: Job, count: int, layout: Arg) -> Recipe:
    """Where a half does not hold the divisor: by way of quotients in float32."""
    (small, dtype), (shape, _) = job.inputs
    size = prod(small)
    flat = flat_walk(size)
    quotients = workspace()
    widen = job.spread(
        "elemwise", f"elemwise_Cast_{dtype}_float32", size, input_at(0), quotients, flat, WRITE
    )
    given = quotients, quotients, float64(float(count)), flat, WRITE
    divide = job.spread("scalar", "scalar_div_float32", size, *given)
    back = f"elemwise_Cast_float32_{dtype}"
    last = job.spread("elemwise", back, prod(shape), quotients, output_at(0), layout, req(0))
    return Recipe((widen, divide, last), temporary=4 * size)
