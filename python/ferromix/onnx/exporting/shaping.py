"""Operators that move elements: shapes, parts, repetitions."""

from __future__ import annotations

from math import prod

import numpy as np

from .site import Site, ints, translates

__all__: list[str] = []

_FAR = np.iinfo(np.int64).max


@translates("Reshape")
def _reshape(at: Site) -> str:
    wanted = at.attrs["shape"]
    if wanted and min(wanted) >= -1 and not at.attrs["reverse"] and _alike(wanted):
        return at.op("Reshape", at.inputs[0], ints(*wanted))
    return _to_output(at)


def _alike(wanted: tuple[int, ...]) -> bool:
    """Whether zeros copy the same extent in ONNX as in MXNet, where -1 may stand for several."""
    zeros = [i for i, n in enumerate(wanted) if n == 0]
    return -1 not in wanted or not zeros or wanted.index(-1) > zeros[-1]


def _to_output(at: Site) -> str:
    """By the shape of the output, of which one extent may be unknown."""
    return at.reshape(at.inputs[0], at.out_partial(), exact=True)


@translates("reshape_like")
def _reshape_like(at: Site) -> str:
    ends = ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")
    if all(at.attrs[n] is None for n in ends):
        return at.op("Reshape", at.inputs[0], at.op("Shape", at.inputs[1]))
    return _to_output(at)


@translates("Flatten")
def _flatten(at: Site) -> str:
    return at.op("Flatten", at.inputs[0], axis=1)


@translates("expand_dims")
def _expand_dims(at: Site) -> str:
    return at.op("Unsqueeze", at.inputs[0], ints(at.attrs["axis"]))


@translates("squeeze")
def _squeeze(at: Site) -> str:
    axis = at.attrs["axis"]
    if axis is None:
        return _to_output(at)
    axes = (axis,) if isinstance(axis, int) else axis
    return at.op("Squeeze", at.inputs[0], ints(*axes)) if axes else at.inputs[0]


@translates("transpose")
def _transpose(at: Site) -> str:
    axes = at.attrs["axes"] or range(at.rank())[::-1]
    return at.transpose(at.inputs[0], *(a + at.rank() if a < 0 else a for a in axes))


@translates("SwapAxis")
def _swap_axis(at: Site) -> str:
    order = [*range(at.rank())]
    a, b = at.attrs["dim1"], at.attrs["dim2"]
    order[a], order[b] = order[b], order[a]
    return at.transpose(at.inputs[0], *order)


@translates("Concat", "_rnn_param_concat")
def _concat(at: Site) -> str:
    return at.op("Concat", *at.inputs, axis=at.axis("dim"))


@translates("stack")
def _stack(at: Site) -> str:
    axis = at.attrs["axis"]
    axis += at.rank() + 1 if axis < 0 else 0
    return at.op("Concat", *(at.op("Unsqueeze", x, ints(axis)) for x in at.inputs), axis=axis)


def _parts(at: Site, sizes: list[int], axis: int, squeezed: bool) -> list[str]:
    found = at.ops("Split", len(sizes), at.inputs[0], ints(*sizes), axis=axis)
    return [at.op("Squeeze", x, ints(axis)) for x in found] if squeezed else found


@translates("SliceChannel")
def _slice_channel(at: Site) -> list[str]:
    axis, count = at.axis(), at.attrs["num_outputs"]
    size = at.extent(axis) // count
    return _parts(at, [size] * count, axis, at.attrs["squeeze_axis"])


@translates("_split_v2")
def _split_v2(at: Site) -> list[str]:
    axis = at.axis()
    sizes = [
        s[axis] if len(s) == at.rank() else 1
        for s in (at.out_shape(k) for k in range(at.card.num_visible_outputs()))
    ]
    if at.attrs["squeeze_axis"]:
        sizes = [1] * len(sizes)
    return _parts(at, sizes, axis, at.attrs["squeeze_axis"])


@translates("slice")
def _slice(at: Site) -> str:
    steps = [1 if s is None else s for s in at.attrs["step"]]
    rows = []
    for axis, (begin, end) in enumerate(zip(at.attrs["begin"], at.attrs["end"], strict=True)):
        step = steps[axis] if axis < len(steps) else 1
        first = (0 if step > 0 else _FAR) if begin is None else begin
        last = (_FAR if step > 0 else -_FAR) if end is None else end
        rows.append((first, last, axis, step))
    return at.op("Slice", at.inputs[0], *(ints(*column) for column in zip(*rows, strict=True)))


@translates("slice_axis")
def _slice_axis(at: Site) -> str:
    end = _FAR if at.attrs["end"] is None else at.attrs["end"]
    return at.op("Slice", at.inputs[0], ints(at.attrs["begin"]), ints(end), ints(at.axis()))


@translates("slice_like")
def _slice_like(at: Site) -> str:
    axes = [a + at.rank() if a < 0 else a for a in at.attrs["axes"] or range(at.rank())]
    ends = [at.extent(a, 1) for a in axes]
    return at.op("Slice", at.inputs[0], ints(*[0] * len(axes)), ints(*ends), ints(*axes))


@translates("reverse")
def _reverse(at: Site) -> str:
    axes = at.attrs["axis"]
    ends = [-_FAR] * len(axes), [-1] * len(axes)
    return at.op("Slice", at.inputs[0], ints(*ends[1]), ints(*ends[0]), ints(*axes), ints(*ends[1]))


@translates("tile")
def _tile(at: Site) -> str:
    x, reps, rank = at.inputs[0], at.attrs["reps"], at.rank()
    if len(reps) > rank:
        x = at.op("Unsqueeze", x, ints(*range(len(reps) - rank)))
    return at.op("Tile", x, ints(*[1] * (rank - len(reps)), *reps))


@translates("repeat")
def _repeat(at: Site) -> str:
    x, count, axis = at.inputs[0], at.attrs["repeats"], at.attrs["axis"]
    if axis is None:
        x, axis, extent = at.reshape(x, [-1]), 0, prod(at.shape())
    else:
        axis = at.axis()
        extent = at.extent(axis)
    return at.op("Gather", x, np.repeat(np.arange(extent), count), axis=axis)


@translates("broadcast_to", "broadcast_axis", "broadcast_like")
def _broadcast(at: Site) -> str:
    # An extent that is not known stays, as that of a one does.
    return at.op("Expand", at.inputs[0], ints(*(max(n, 1) if n else 0 for n in at.out_partial())))


@translates("Pad")
def _pad(at: Site) -> str:
    widths = at.attrs["pad_width"]
    pads = ints(*widths[::2], *widths[1::2])
    mode = at.attrs["mode"]
    if not widths:
        return at.inputs[0]
    if mode == "constant":
        return at.op("Pad", at.inputs[0], pads, at.number(at.attrs["constant_value"]), mode=mode)
    return at.op("Pad", at.inputs[0], pads, mode=mode)


@translates("depth_to_space")
def _depth_to_space(at: Site) -> str:
    return at.op("DepthToSpace", at.inputs[0], blocksize=at.attrs["block_size"], mode="DCR")


@translates("space_to_depth")
def _space_to_depth(at: Site) -> str:
    return at.op("SpaceToDepth", at.inputs[0], blocksize=at.attrs["block_size"])


@translates("shape_array")
def _shape_array(at: Site) -> str:
    return at.op("Shape", at.inputs[0])


@translates("size_array")
def _size_array(at: Site) -> str:
    return at.reshape(at.op("Size", at.inputs[0]), [1])


@translates("cumsum")
def _cumsum(at: Site) -> str:
    x, axis = at.inputs[0], at.attrs["axis"]
    if at.out_dtype() != at.dtype():
        x = at.cast(x, at.out_dtype())
    if axis is None:
        x, axis = at.reshape(x, [-1]), 0
    return at.op("CumSum", x, np.int64(axis))


@translates("diag")
def _diag(at: Site) -> str:
    x, k, rank = at.inputs[0], at.attrs["k"], at.rank()
    if rank == 1:
        count = at.extent(0)
        places = np.full((count + abs(k),) * 2, count)
        i = np.arange(count)
        places[i + max(0, -k), i + max(0, k)] = i
        return at.op("Gather", at.op("Concat", x, np.zeros(1, at.dtype()), axis=0), places, axis=0)
    axes = [at.axis("axis1"), at.axis("axis2")]
    others = [i for i in range(rank) if i not in axes]
    rows, columns = (at.extent(a) for a in axes)
    flat = at.reshape(
        at.transpose(x, *others, *axes), [*(at.extent(i) for i in others), rows * columns]
    )
    first = max(0, -k) * columns + max(0, k)
    places = first + (columns + 1) * np.arange(at.out_shape()[-1])
    return at.op("Gather", flat, places, axis=rank - 2)
