"""Operators that move elements: shapes, parts, repetitions."""

from __future__ import annotations

from math import prod

import numpy as np

from ...symbol import Symbol
from .arithmetic import stretched
from .use import Use, Value, reads

__all__: list[str] = []

_FAR = np.iinfo(np.int64).max >> 1


@reads("Reshape")
def _reshape(at: Use) -> Symbol:
    wanted = at.ints(1, "shape")
    if wanted is None:
        raise at.error("a shape is missing")
    if at.attrs.get("allowzero", 0) and 0 in wanted:
        raise at.error(f"a shape without elements, {wanted}")
    before = at.shape()
    for i, n in enumerate(wanted):
        # In MXNet a zero copies the extent at its place as long as nothing else came before it.
        if n == 0 and -1 in wanted[:i]:
            if i >= len(before) or before[i] < 0:
                raise at.error(f"the extent that {wanted} copies must be known")
            wanted[i] = before[i]
    if not wanted:
        return at.last("reshape_like", at.symbol(), at.parameter(1, np.zeros((), np.float32)))
    return at.last("Reshape", at.symbol(), shape=tuple(wanted))


@reads("Flatten")
def _flatten(at: Use) -> Symbol:
    axis = at.attrs.get("axis", 1)
    if axis == 1:
        return at.last("Flatten", at.symbol())
    axis = at.place(axis, at.rank()) if axis != at.rank() else axis
    if axis == 0:
        return at.last("Reshape", at.symbol(), shape=(1, -1))
    return at.last("Reshape", at.symbol(), shape=(prod(at.extents()[:axis]), -1))


@reads("Transpose")
def _transpose(at: Use) -> Symbol:
    axes = at.attrs.get("perm")
    return at.last("transpose", at.symbol(), axes=tuple(axes) if axes else ())


@reads("Concat")
def _concat(at: Use) -> Symbol:
    return at.last("Concat", *at.symbols(), dim=at.axis(1), num_args=len(at))


@reads("Split")
def _split(at: Use) -> list[Symbol]:
    axis, sizes = at.axis(0), at.ints(1, "split")
    if sizes is None:
        count = at.attrs.get("num_outputs", at.outputs)
        extent = at.shape()[axis]
        if extent < 0 or extent % count == 0:
            return list(at.last("SliceChannel", at.symbol(), num_outputs=count, axis=axis))
        each = -(-extent // count)
        sizes = [min(each, extent - i * each) for i in range(count)]
    if len(sizes) > 1 and len(set(sizes)) == 1:
        return list(at.last("SliceChannel", at.symbol(), num_outputs=len(sizes), axis=axis))
    ends = [int(n) for n in np.cumsum(sizes)]
    rows = zip([0, *ends], ends, strict=False)
    return [
        at.op("slice_axis", at.symbol(), axis=axis, begin=begin, end=end) for begin, end in rows
    ]


@reads("Slice")
def _slice(at: Use) -> Symbol:
    begins, ends = at.ints(1, "starts"), at.ints(2, "ends")
    if begins is None or ends is None:
        raise at.error("starts or ends are missing")
    axes = at.ints(3, "axes") or [*range(len(begins))]
    steps = at.ints(4) or [1] * len(begins)
    rank = at.rank()
    slots: list[tuple[int | None, int | None, int | None]] = [(None, None, None)] * rank
    for begin, end, axis, step in zip(begins, ends, axes, steps, strict=True):
        place = at.place(axis, rank)
        slots[place] = _slot(begin, end, step, at.shape()[place])
    columns = [tuple(column) for column in zip(*slots, strict=True)]
    return at.last("slice", at.symbol(), begin=columns[0], end=columns[1], step=columns[2])


def _slot(
    begin: int, end: int, step: int, extent: int
) -> tuple[int | None, int | None, int | None]:
    """A slice with ends as MXNet takes them: none where they lie beyond."""
    if extent >= 0:
        first, last, step = slice(begin, end, step).indices(extent)
        if step < 0:
            return (first if first >= 0 else None), (None if last < 0 else last), step
        return first, last, step
    far = abs(begin) > _FAR, abs(end) > _FAR
    return (None if far[0] else begin), (None if far[1] else end), step


@reads("Squeeze")
def _squeeze(at: Use) -> Symbol:
    axes = at.ints(1, "axes")
    if axes is None:
        axes = [i for i, n in enumerate(at.extents()) if n == 1]
    return at.last("squeeze", at.symbol(), axis=tuple(axes)) if axes else at.symbol()


@reads("Unsqueeze")
def _unsqueeze(at: Use) -> Symbol:
    axes = at.ints(1, "axes") or []
    rank = at.rank() + len(axes)
    found = at.symbol()
    for axis in sorted(at.place(a, rank) for a in axes):
        found = at.op("expand_dims", found, axis=axis)
    return found


@reads("Expand")
def _expand(at: Use) -> Symbol:
    wanted, shape = at.ints(1) or [], at.extents()
    return stretched(at, at.symbol(), shape, np.broadcast_shapes(shape, tuple(wanted)))


@reads("Tile")
def _tile(at: Use) -> Symbol:
    return at.last("tile", at.symbol(), reps=tuple(at.ints(1) or ()))


@reads("Pad")
def _pad(at: Use) -> Symbol:
    pads = at.ints(1, "pads") or []
    mode, rank = at.attrs.get("mode", "constant"), at.rank()
    whole = pads
    if at.has(3):
        whole = [0] * (2 * rank)
        axes = at.ints(3) or []
        for i, axis in enumerate(axes):
            place = at.place(axis, rank)
            whole[place], whole[place + rank] = pads[i], pads[i + len(axes)]
    if len(whole) != 2 * rank:
        raise at.error(f"pads={pads} of a tensor of {rank} axes")
    value = at.constant(2).item() if at.has(2) else at.attrs.get("value", 0.0)
    if min(whole, default=0) < 0:
        raise at.error(f"negative pads, {pads}")
    if mode not in ("constant", "edge", "reflect"):
        raise at.error(f"mode '{mode}'")
    width = tuple(whole[i + k * rank] for i in range(rank) for k in (0, 1))
    return at.last("Pad", at.symbol(), mode=mode, pad_width=width, constant_value=value)


@reads("DepthToSpace")
def _depth_to_space(at: Use) -> Symbol:
    size = at.attrs["blocksize"]
    if at.attrs.get("mode", "DCR") == "DCR":
        return at.last("depth_to_space", at.symbol(), block_size=size)
    batch, channels, height, width = at.extents()
    apart = (batch, channels // size**2, size, size, height, width)
    moved = at.op("transpose", at.op("Reshape", at.symbol(), shape=apart), axes=(0, 1, 4, 2, 5, 3))
    whole = (batch, channels // size**2, height * size, width * size)
    return at.last("Reshape", moved, shape=whole)


@reads("SpaceToDepth")
def _space_to_depth(at: Use) -> Symbol:
    return at.last("space_to_depth", at.symbol(), block_size=at.attrs["blocksize"])


@reads("Shape")
def _shape(at: Use) -> Value:
    shape = at.shape()
    part = shape[at.attrs.get("start", 0) : at.attrs.get("end", len(shape))]
    if all(n >= 0 for n in part):
        return np.array(part, np.int64)
    if part != shape:
        raise at.error("a part of a shape that is not known")
    return at.last("shape_array", at.symbol())


@reads("Size")
def _size(at: Use) -> Value:
    return np.asarray(prod(at.extents()), np.int64)


@reads("ConstantOfShape")
def _constant_of_shape(at: Use) -> Symbol:
    value = np.asarray(at.attrs.get("value", np.zeros(1, np.float32))).reshape(-1)[0]
    shape = tuple(at.ints(0) or ())
    return at.last("_full", shape=shape, value=float(value), dtype=str(value.dtype))


@reads("CumSum")
def _cumsum(at: Use) -> Symbol:
    at.require(exclusive=0, reverse=0)
    axis = at.place(int(at.constant(1).reshape(-1)[0]), at.rank())
    return at.last("cumsum", at.symbol(), axis=axis)


@reads("ReverseSequence")
def _reverse_sequence(at: Use) -> Symbol:
    time, batch = at.attrs.get("time_axis", 0), at.attrs.get("batch_axis", 1)
    x = at.symbol() if time == 0 else at.op("SwapAxis", at.symbol(), dim1=0, dim2=1)
    if {time, batch} != {0, 1}:
        raise at.error(f"time_axis={time} and batch_axis={batch}")
    found = at.op("SequenceReverse", x, at.symbol(1), use_sequence_length=True)
    return found if time == 0 else at.op("SwapAxis", found, dim1=0, dim2=1)
