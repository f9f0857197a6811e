"""Recipe of IdentityAttachKLSparseReg."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Launch, Recipe, float64, input_at, int32, output_at, recipe, req
from ..recipe_folds import along, flat_walk, split

__all__: list[str] = []


@recipe("IdentityAttachKLSparseReg")
def sparse_reg(job: Job) -> Recipe | None:
    """Running means, for which threads share a channel, and a copy."""
    shape, dtype = job.inputs[0]
    if any(t != dtype or dtype not in FLOATS for _, t in (*job.inputs, *job.outputs)):
        return None
    outer, count, inner = shape[0], shape[1], prod(shape[2:])
    how = split(job.limits, count, outer * inner, count if inner == 1 else 1)
    momentum, train = float64(float(job.attrs["momentum"])), int(job.attrs["__is_train__"])
    rest = along(outer, count, inner), momentum, int32(train), req(1)
    given = input_at(0), input_at(1), output_at(1), *rest
    means = Launch("sparse_reg", f"sparse_reg_{dtype}", how.grid, how.block, given)
    given = input_at(0), output_at(0), flat_walk(prod(shape)), req(0)
    copy = job.spread("elemwise", f"elemwise_copy_{dtype}", prod(shape), *given)
    return Recipe((means, copy))
