"""Reductions, orders, and what picks elements by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbol import Symbol
from .use import Use, reads

__all__: list[str] = []

_KINDS = {
    **{f"Reduce{n.capitalize()}": n for n in ("sum", "mean", "max", "min", "prod")},
    **{"ReduceL1": "norm", "ReduceL2": "norm", "ReduceSumSquare": "sum"},
    **{"ReduceLogSum": "sum", "ReduceLogSumExp": "sum"},
}


def _reduced(at: Use, operator: str, x: Symbol, **attrs: Any) -> Symbol:
    axes, kept = at.ints(1, "axes"), bool(at.attrs.get("keepdims", 1))
    if not axes and at.attrs.get("noop_with_empty_axes", 0):
        return x
    rank = at.rank()
    over = tuple(sorted(at.place(a, rank) for a in axes)) if axes else tuple(range(rank))
    return at.last(operator, x, axis=over, keepdims=kept, **attrs)


@reads(*_KINDS)
def _reduce(at: Use) -> Symbol:
    x, kind = at.symbol(), at.kind
    if kind in ("ReduceL1", "ReduceL2"):
        return _reduced(at, "norm", x, ord=int(kind[-1]))
    if kind == "ReduceSumSquare":
        return _reduced(at, "sum", at.op("square", x))
    if kind == "ReduceLogSum":
        return at.op("log", _reduced(at, "sum", x))
    if kind == "ReduceLogSumExp":
        return at.op("log", _reduced(at, "sum", at.op("exp", x)))
    return _reduced(at, _KINDS[kind], x)


@reads("ArgMax", "ArgMin")
def _arg(at: Use) -> Symbol:
    at.require(select_last_index=0)
    kept = bool(at.attrs.get("keepdims", 1))
    found = at.op(at.kind.lower(), at.symbol(), axis=at.axis(0), keepdims=kept)
    return at.last("Cast", found, dtype="int64")


@reads("TopK")
def _topk(at: Use) -> list[Symbol]:
    count = int(at.constant(1).reshape(-1)[0]) if at.has(1) else at.attrs["k"]
    ascending = not at.attrs.get("largest", 1)
    options = {"k": count, "axis": at.axis(-1), "ret_typ": "both", "is_ascend": ascending}
    return list(at.last("topk", at.symbol(), dtype="int64", **options))


@reads("Gather")
def _gather(at: Use) -> Symbol:
    axis = at.axis(0)
    if at.is_constant(1):
        indices = at.constant(1)
        if indices.ndim == 0:
            index = int(indices)
            end = index + 1 if index != -1 else None
            one = at.op("slice_axis", at.symbol(), axis=axis, begin=index, end=end)
            return at.op("squeeze", one, axis=axis) if at.rank() > 1 else one
        if (indices < 0).any():
            indices = np.where(indices < 0, indices + at.extents()[axis], indices)
        return at.last("take", at.symbol(), at.parameter(1, indices), axis=axis)
    if axis == 0 and at.is_constant(0) and at.rank() == 2:
        rows, columns = at.extents()
        return at.last("Embedding", at.symbol(1), at.symbol(), input_dim=rows, output_dim=columns)
    return at.last("take", at.symbol(), at.symbol(1), axis=axis, mode="wrap")


@reads("GatherElements")
def _gather_elements(at: Use) -> Symbol:
    axis = at.axis(0)
    if at.rank() == 1:
        return at.last("take", at.symbol(), at.symbol(1), mode="wrap")
    if at.shape(1)[axis] == 1:
        index = at.op("squeeze", at.symbol(1), axis=axis)
        return at.last("pick", at.symbol(), index, axis=axis, keepdims=True, mode="wrap")
    places = at.extents(1)
    grids = np.indices(places)
    rows = [
        at.op("expand_dims", at.symbol(1), axis=0)
        if i == axis
        else at.parameter(1, grids[i : i + 1])
        for i in range(len(places))
    ]
    return at.last("gather_nd", at.symbol(), at.op("Concat", *rows, dim=0, num_args=len(rows)))


@reads("GatherND")
def _gather_nd(at: Use) -> Symbol:
    rank, batch = at.rank(1), at.attrs.get("batch_dims", 0)
    indices = at.symbol(1)
    if batch:
        if batch != 1 or rank != 2:
            raise at.error(f"batch_dims={batch} with places of {rank} axes")
        own = at.parameter(1, np.arange(at.extents(1)[0]).reshape(-1, 1))
        indices = at.op("Concat", own, indices, dim=1, num_args=2)
    if rank > 1:
        indices = at.op("transpose", indices, axes=(rank - 1, *range(rank - 1)))
    return at.last("gather_nd", at.symbol(), indices)


@reads("ScatterND")
def _scatter_nd(at: Use) -> Symbol:
    if not at.is_constant(0) or at.constant(0).any() or at.attrs.get("reduction", "none") != "none":
        raise at.error("anything but zeros to write to")
    rank = at.rank(1)
    indices = at.op("transpose", at.symbol(1), axes=(rank - 1, *range(rank - 1)))
    return at.last("scatter_nd", at.symbol(2), indices, shape=at.extents(0))


@reads("OneHot")
def _one_hot(at: Use) -> Symbol:
    depth = int(at.constant(1).reshape(-1)[0])
    off, on = (float(v) for v in at.constant(2))
    indices = at.symbol()
    if at.axis_of_new(-1) != at.rank():
        raise at.error(f"axis={at.attrs['axis']}; the last one alone can be said")
    dtype = str(at.constant(2).dtype)
    options = {"on_value": on, "off_value": off, "dtype": dtype}
    # A negative number counts from the end.
    negative = at.op("_lesser_scalar", indices, scalar=0)
    moved = at.op("elemwise_add", indices, at.op("_mul_scalar", negative, scalar=depth))
    return at.last("one_hot", moved, depth=depth, **options)
