"""Reductions, orders, and what picks elements by number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .layers import bounded
from .site import Site, ints, translates

__all__: list[str] = []


def _axes(at: Site) -> list[int]:
    given, rank = at.attrs["axis"], at.rank()
    if given is None or given == ():
        found = set(range(rank))
        return sorted(found)
    found = {a + rank if a < 0 else a for a in ((given,) if isinstance(given, int) else given)}
    return sorted(set(range(rank)) - found if at.attrs.get("exclude") else found)


def _reduced(at: Site, kind: str, x: str) -> str:
    axes, kept = _axes(at), int(at.attrs["keepdims"])
    if not axes:
        return at.reshape(x, [1]) if not at.rank() else x
    if kind == "ReduceSum":  # the first whose axes have become an input
        found = at.op(kind, x, ints(*axes), keepdims=kept)
    else:
        found = at.op(kind, x, axes=axes, keepdims=kept)
    return found if kept or len(axes) < at.rank() else at.reshape(found, [1])


def _reduction(kind: str) -> Callable[[Site], str]:
    return lambda at: _reduced(at, kind, at.inputs[0])


for _word, _kind in {
    "sum": "Sum",
    "mean": "Mean",
    "max": "Max",
    "min": "Min",
    "prod": "Prod",
}.items():
    translates(_word)(_reduction(f"Reduce{_kind}"))


def _without_nan(neutral: float, kind: str) -> Callable[[Site], str]:
    def say(at: Site) -> str:
        x = at.inputs[0]
        return _reduced(at, kind, at.op("Where", at.op("IsNaN", x), at.number(neutral), x))

    return say


@translates("moments")
def _moments(at: Site) -> list[str]:
    x = at.inputs[0]
    axes = [*range(at.rank())] if at.attrs["axes"] is None else [*at.attrs["axes"]]
    kept = at.op("ReduceMean", x, axes=axes, keepdims=1)
    centred = at.op("Sub", x, kept)
    found = [kept, at.op("ReduceMean", at.op("Mul", centred, centred), axes=axes, keepdims=1)]
    if at.attrs["keepdims"]:
        return found
    return [at.reshape(v, at.out_partial(k), exact=True) for k, v in enumerate(found)]


translates("nansum")(_without_nan(0, "ReduceSum"))
translates("nanprod")(_without_nan(1, "ReduceProd"))


@translates("norm")
def _norm(at: Site) -> str:
    found = _reduced(at, f"ReduceL{at.attrs['ord']}", at.inputs[0])
    return at.cast(found, at.out_dtype()) if at.out_dtype() != at.dtype() else found


@translates("argmax", "argmin", "argmax_channel")
def _arg(at: Site) -> str:
    kind = "ArgMin" if at.card.name == "argmin" else "ArgMax"
    x, axis = at.inputs[0], at.attrs.get("axis", 1)
    kept = at.attrs.get("keepdims", False)
    if axis is None:
        found = at.op(kind, at.reshape(x, [-1]), axis=0, keepdims=1)
        found = at.reshape(found, [1] * at.rank()) if kept else found
    else:
        found = at.op(kind, x, axis=axis, keepdims=int(kept))
        if at.rank() == 1 and not kept:
            found = at.reshape(found, [1])
    return at.cast(found, at.out_dtype())


def _ordered(at: Site, count: int | None, ascending: bool) -> tuple[str, str]:
    """The first elements in order along an axis, and where they were."""
    x, axis = at.inputs[0], at.attrs["axis"]
    if axis is None:
        x, axis, extent = at.reshape(x, [-1]), 0, int(np.prod(at.shape()))
    else:
        axis = at.axis()
        extent = at.partial()[axis]
    if extent >= 0 or not count:
        extent = at.extent(axis) if extent < 0 else extent
        count = min(count or extent, extent)
    found = at.ops("TopK", 2, x, ints(count), axis=axis, largest=int(not ascending), sorted=1)
    return found[0], found[1]


@translates("sort")
def _sort(at: Site) -> list[str]:
    return [_ordered(at, None, at.attrs["is_ascend"])[0]]


@translates("argsort")
def _argsort(at: Site) -> list[str]:
    places = _ordered(at, None, at.attrs["is_ascend"])[1]
    return [at.cast(places, at.out_dtype())]


@translates("topk")
def _topk(at: Site) -> list[str]:
    kind = at.attrs["ret_typ"]
    values, places = _ordered(at, at.attrs["k"], at.attrs["is_ascend"])
    if kind == "value":
        return [values]
    if kind == "mask":
        return [_mask(at, places)]
    places = at.cast(places, at.out_dtype(1 if kind == "both" else 0))
    return [values, places] if kind == "both" else [places]


def _mask(at: Site, places: str) -> str:
    """One where the elements are, zero elsewhere."""
    shape, rank = at.shape(), at.rank()
    if at.attrs["axis"] is None:
        return at.reshape(_ones_at(at, places, int(np.prod(shape))), shape)
    axis = at.axis()
    order = [i for i in range(rank) if i != axis] + [axis]
    found = _ones_at(at, at.transpose(places, *order), at.extent(axis))
    return at.transpose(found, *(order.index(i) for i in range(rank)))


def _ones_at(at: Site, places: str, extent: int) -> str:
    """Along the last axis."""
    ends = np.array([0, 1], np.float32)
    each = at.op("OneHot", places, np.int64(extent), ends, axis=-1)
    return at.cast(at.op("ReduceSum", each, ints(-2), keepdims=0), at.out_dtype())


@translates("take")
def _take(at: Site) -> str:
    axis = at.axis()
    if at.attrs["mode"] == "raise":
        return at.op("Gather", at.inputs[0], at.indices(1), axis=axis)
    found = bounded(at, 1, at.extent(axis), at.attrs["mode"])
    return at.op("Gather", at.inputs[0], found, axis=axis)


@translates("pick")
def _pick(at: Site) -> str:
    axis = at.attrs["axis"]
    if axis is None:
        raise at.error("axis None")
    axis, rank = at.axis(), at.rank()
    places = bounded(at, 1, at.extent(axis), at.attrs["mode"])
    if at.rank(1) < rank:
        places = at.op("Unsqueeze", places, ints(axis))
    found = at.op("GatherElements", at.inputs[0], places, axis=axis)
    return found if at.attrs["keepdims"] else at.op("Squeeze", found, ints(axis))


@translates("batch_take")
def _batch_take(at: Site) -> str:
    rows = at.reshape(at.inputs[0], [-1, at.extent(-1)])
    places = at.reshape(bounded(at, 1, at.extent(-1)), [-1, 1])
    found = at.op("GatherElements", rows, places, axis=1)
    return at.op("Reshape", found, at.op("Shape", at.inputs[1]))


@translates("one_hot")
def _one_hot(at: Site) -> str:
    depth = at.attrs["depth"]
    values = np.array([at.attrs["off_value"], at.attrs["on_value"]], np.float32)
    # A negative number counts from the end in ONNX; in MXNet nothing is on.
    indices = at.indices(0)
    outside = at.op("Less", indices, np.int64(0))
    indices = at.op("Where", outside, np.int64(depth), indices)
    found = at.op("OneHot", indices, np.int64(depth), values, axis=-1)
    return found if at.out_dtype() == "float32" else at.cast(found, at.out_dtype())


@translates("gather_nd")
def _gather_nd(at: Site) -> str:
    rank = at.rank(1)
    indices = at.indices(1)
    if rank > 1:
        indices = at.transpose(indices, *range(1, rank), 0)
    return at.op("GatherND", at.inputs[0], indices)


@translates("scatter_nd")
def _scatter_nd(at: Site) -> str:
    rank = at.rank(1)
    indices = at.transpose(at.indices(1), *range(1, rank), 0)
    zeros = np.zeros(1, at.dtype())
    start = at.op("ConstantOfShape", ints(*at.attrs["shape"]), value=at.tensor(zeros))
    return at.op("ScatterND", start, indices, at.inputs[0])


def _steps(at: Site, extent: int) -> str:
    return at.op("Range", np.int64(0), np.int64(extent), np.int64(1))


@translates("SequenceMask")
def _sequence_mask(at: Site) -> str:
    if not at.attrs["use_sequence_length"]:
        return at.op("Identity", at.inputs[0])
    axis, rank = at.attrs["axis"], at.rank()
    steps, lengths = [1] * rank, [1] * rank
    steps[axis], lengths[1 - axis] = -1, -1
    within = at.op(
        "Less",
        at.reshape(_steps(at, at.extent(axis)), steps),
        at.reshape(at.indices(1), lengths),
    )
    return at.op("Where", within, at.inputs[0], at.number(at.attrs["value"]))


@translates("SequenceLast")
def _sequence_last(at: Site) -> str:
    axis = at.attrs["axis"]
    if not at.attrs["use_sequence_length"]:
        return at.op("Gather", at.inputs[0], np.int64(at.extent(axis) - 1), axis=axis)
    last = at.op("Sub", at.indices(1), np.int64(1))
    rank = at.rank()
    x = at.transpose(at.inputs[0], 1, 0, *range(2, rank)) if axis == 0 else at.inputs[0]
    return at.op("GatherND", x, at.op("Unsqueeze", last, ints(1)), batch_dims=1)


@translates("SequenceReverse")
def _sequence_reverse(at: Site) -> str:
    x = at.inputs[0]
    if not at.attrs["use_sequence_length"]:
        return at.op("Slice", x, ints(-1), ints(-np.iinfo(np.int64).max), ints(0), ints(-1))
    return at.op("ReverseSequence", x, at.indices(1), time_axis=0, batch_axis=1)
