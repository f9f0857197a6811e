"""Recipes of anchors over an image, and of the boxes that a detector finds from them."""

from __future__ import annotations

import struct as packing

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
    struct,
)
from ..recipe_room import Room
from .box_nms import Compared
from .ordering import best

__all__ = ["KINDS", "below", "single"]

KINDS = 32
"""Kinds of anchors that a launch makes."""


def single(x: float) -> float:
    """A number rounded to single precision."""
    return packing.unpack("=f", packing.pack("=f", x))[0]


def below(x: float) -> float:
    """The number of single precision before one that is positive."""
    (bits,) = packing.unpack("=I", packing.pack("=f", x))
    return packing.unpack("=f", packing.pack("=I", bits - 1))[0]


@recipe("_contrib_MultiBoxPrior")
def prior(job: Job) -> Recipe | None:
    """A thread for each anchor, in launches of some kinds."""
    attrs, (_, _, rows, columns) = job.attrs, job.inputs[0][0]
    if any(dtype != "float32" for _, dtype in (*job.inputs, *job.outputs)):
        return None
    if rows * columns == 0:
        return Recipe(())
    sizes, ratios = attrs["sizes"], attrs["ratios"]
    shapes = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    steps = [single(x) for x in attrs["steps"]]
    if min(steps) <= 0:
        steps = [1 / rows, 1 / columns]
    launches = []
    for first in range(0, len(shapes), KINDS):
        some = shapes[first : first + KINDS]
        whole = rows, columns, len(shapes), first, len(some), int(attrs["clip"])
        numbers = [*steps, *attrs["offsets"], *(x for shape in some for x in shape)]
        numbers += [0.0] * (2 * (KINDS - len(some)))
        arg = struct(*map(int64, whole), *map(float32, numbers))
        given = output_at(0), arg, req(0)
        count = rows * columns * len(some)
        launches.append(job.spread("multibox", "multibox_prior_float32", count, *given))
    return Recipe(tuple(launches))


@recipe("_contrib_MultiBoxDetection")
def detection(job: Job) -> Recipe | None:
    """The best class of each anchor, rows in order, and a block for each image to compare them."""
    attrs, (images, classes, anchors) = job.attrs, job.inputs[0][0]
    if any(dtype != "float32" for _, dtype in (*job.inputs, *job.outputs)):
        return None
    topk, most, count = attrs["nms_topk"], single(attrs["nms_threshold"]), images * anchors
    compares = 0 < most <= 1
    taking = min(anchors, topk) if compares and topk > 0 else anchors
    room = Room()
    marks, found, labels = (room.take(count, 4) for _ in range(3))
    rows, compared = room.take(6 * count, 4), Compared(room, images, taking, "float32")
    made = best(job, room, marks if compares else found, "float32", (images, anchors, taking))
    # What is not compared comes as it was found.
    rest = (nothing(), [])
    if taking < anchors:
        rest = best(job, room, found, "float32", (images, anchors, anchors))
    if made is None or rest is None:
        return None
    whole = images, classes, anchors, int(attrs["clip"]), int(compares), taking
    numbers = attrs["threshold"], *attrs["variances"]
    arg = struct(*map(int64, whole), *map(float32, numbers))

    def spread(word: str, each: int, *args: Arg) -> Launch:
        return job.spread("multibox", f"multibox_{word}_float32", each, *args)

    launches = [spread("scores", count, input_at(0), marks, found, labels, arg)]
    launches += [*made[1], *rest[1]]
    given = input_at(1), input_at(2), marks, labels, made[0], rest[0], rows
    own = compared.places, compared.classes, compared.fates
    launches.append(spread("rows", count, *given, *own, arg))
    if compares:
        by_class = not attrs["force_suppress"]
        launches.append(compared.suppress(job, below(most), by_class))
    last = rows, compared.fates, output_at(0), arg, req(0)
    return Recipe((*launches, spread("write", 6 * count, *last)), room.bytes)
