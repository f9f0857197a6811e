"""Recipes of Dropout."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Recipe,
    draws,
    field,
    float64,
    input_at,
    int64,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_folds import flat_walk, packed_walk, strides_of

__all__ = ["coin"]


def coin(p: float) -> Arg:
    """An ``fm::Coin`` that drops with a probability."""
    keep = 1.0 - p
    return struct(field(int(keep * 2**32)), field(1 / keep if keep > 0 else 0.0))


@recipe("Dropout")
def dropout(job: Job) -> Recipe | None:
    """The data and factors of one outside of training; else one launch if each element has a factor
    of its own, or one for the factors and one for the data."""
    shape, dtype = job.inputs[0]
    p = float(job.attrs["p"])
    if dtype not in FLOATS:
        return None
    if p == 0 or (job.attrs["mode"] != "always" and not job.attrs["__is_train__"]):
        return untouched(job)
    shared = job.outputs[1][0]
    if shared != shape:
        return together(job, coin(p))
    count = prod(shape)
    given = input_at(0), output_at(0), req(0), output_at(1), req(1), int64(count), coin(p), draws()
    return Recipe((job.spread("dropout", f"dropout_each_{dtype}", -(-count // 4), *given),))


def together(job: Job, tossed: Arg) -> Recipe | None:
    """Where elements share factors."""
    (shape, dtype), shared = job.inputs[0], job.outputs[1][0]
    pairs = zip(shape, shared, strides_of(shared), strict=True)
    steps = [step if n == s else 0 for n, s, step in pairs]
    layout = packed_walk(shape, strides_of(shape), steps)
    if layout is None:
        return None
    count = prod(shared)
    given = output_at(1), int64(count), tossed, draws(), req(1)
    mask = job.spread("dropout", f"dropout_mask_{dtype}", -(-count // 4), *given)
    given = input_at(0), output_at(0), layout, tossed, draws(), req(0)
    return Recipe((mask, job.spread("dropout", f"dropout_spread_{dtype}", prod(shape), *given)))


def untouched(job: Job) -> Recipe:
    """A copy, and ones."""
    (shape, dtype), (shared, _) = job.outputs
    given = input_at(0), output_at(0), flat_walk(prod(shape)), req(0)
    ones = output_at(1), int64(prod(shared)), float64(1.0), req(1)
    return Recipe(
        (
            job.spread("elemwise", f"elemwise_copy_{dtype}", prod(shape), *given),
            job.spread("init", f"init_full_{dtype}", prod(shared), *ones),
        )
    )
