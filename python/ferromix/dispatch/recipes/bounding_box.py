"""Recipes of overlaps of boxes, of offsets to boxes and back, and of pairs of rows and columns."""

from __future__ import annotations

from math import inf, prod

from ...ops.family import FLOATS
from ..recipe import (
    Job,
    Launch,
    Recipe,
    field,
    input_at,
    int32,
    int64,
    output_at,
    recipe,
    refusal,
    req,
    struct,
)
from ..recipe_folds import words
from ..recipe_room import Room
from .gemm import WIDTH
from .ordering import best

__all__ = ["computed"]

MOST = 2**31 - 1
"""Rows and columns that 32 bits number."""


def computed(dtype: str) -> str:
    """The type that boxes of a type are computed in."""
    return "float64" if dtype == "float64" else "float32"


def one_type(job: Job) -> str | None:
    """The type of all arguments, if there is one."""
    found = {dtype for _, dtype in (*job.inputs, *job.outputs)}
    return found.pop() if len(found) == 1 and found <= set(FLOATS) else None


@recipe("_contrib_box_iou")
def iou(job: Job) -> Recipe | None:
    """A thread for each pair."""
    dtype = one_type(job)
    if dtype is None:
        return None
    left, right = (prod(shape[:-1]) for shape, _ in job.inputs)
    pairs = words(left, right, job.attrs["format"] == "center")
    given = input_at(0), input_at(1), output_at(0), pairs, req(0)
    return Recipe((job.spread("bounding_box", f"bounding_box_iou_{dtype}", left * right, *given),))


@recipe("_contrib_box_encode")
def encode(job: Job) -> Recipe | None:
    """A thread for each anchor."""
    dtype = one_type(job)
    if dtype is None:
        return None
    (images, anchors), boxes = job.inputs[0][0], job.inputs[3][0][1]
    matched = struct(*map(input_at, range(1, 6)))
    ends = output_at(0), output_at(1), words(images, anchors, boxes), req(0), req(1), refusal()
    entry = f"bounding_box_encode_{dtype}"
    launch = job.spread("bounding_box", entry, images * anchors, input_at(0), matched, *ends)
    text = f"{job.name}: match {{}} of a sample is no index of {boxes} boxes"
    return Recipe((launch,), refusals=(("index", text),))


@recipe("_contrib_box_decode")
def decode(job: Job) -> Recipe | None:
    """A thread for each box."""
    dtype, attrs = one_type(job), job.attrs
    if dtype is None:
        return None
    shape = job.inputs[0][0]
    clip = float(attrs["clip"])
    stds = [float(attrs[f"std{k}"]) for k in range(4)]
    count, centered = prod(shape[:-1]), int(attrs["format"] == "center")
    numbers = count, shape[1], centered, *stds, clip if clip > 0 else inf
    given = input_at(0), input_at(1), output_at(0), struct(*map(field, numbers)), req(0)
    return Recipe((job.spread("bounding_box", f"bounding_box_decode_{dtype}", count, *given),))


@recipe("_contrib_bipartite_matching")
def matching(job: Job) -> Recipe | None:
    """All pairs in order, and a block for each matrix that goes through them."""
    dtype, attrs = one_type(job), job.attrs
    *batch, rows, columns = job.inputs[0][0]
    if dtype is None or max(rows, columns) > MOST:
        return None
    count, pairs, room = prod(batch), rows * columns, Room()
    marks = room.take(count * pairs, WIDTH[dtype])
    partners = room.take(count * (rows + columns), 4)
    ascending = int(attrs["is_ascend"])
    given = input_at(0), marks, int64(count * pairs), int32(ascending)
    first = job.spread("bounding_box", f"bounding_box_marks_{dtype}", count * pairs, *given)
    made = best(job, room, marks, computed(dtype), (count, pairs, pairs))
    if made is None:
        return None
    # One more than asked for, as MXNet.
    most = attrs["topk"] + 1 if attrs["topk"] > 0 else -1
    numbers = count, rows, columns, ascending, most, float(attrs["threshold"])
    ends = input_at(0), made[0], partners, output_at(0), output_at(1)
    args = *ends, struct(*map(field, numbers)), req(0), req(1)
    grid, block = (job.blocks(count, 1), 1, 1), (job.limits.threads, 1, 1)
    last = Launch("bounding_box", f"bounding_box_match_{dtype}", grid, block, args)
    return Recipe((first, *made[1], last), room.bytes)
