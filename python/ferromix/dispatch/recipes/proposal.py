"""Recipes of regions in which there may be an object."""

from __future__ import annotations

from itertools import product

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    float32,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_room import Room
from .box_nms import Compared
from .multibox import KINDS, single
from .ordering import best

__all__: list[str] = []


@recipe("_contrib_Proposal", "_contrib_MultiProposal")
def proposal(job: Job) -> Recipe | None:
    """Boxes of all anchors, the best in order, and a block for each image that compares them."""
    attrs, (images, _, rows, columns) = job.attrs, job.inputs[0][0]
    if any(dtype != "float32" for _, dtype in (*job.inputs, *job.outputs)):
        return None
    kinds = list(product(attrs["ratios"], attrs["scales"]))
    most, after = attrs["rpn_pre_nms_top_n"], attrs["rpn_post_nms_top_n"]
    places = rows * columns * len(kinds)
    if images * after * places == 0:
        return Recipe(())
    taking = min(places, most) if most > 0 else places
    room = Room()
    corners = room.take(4 * images * places, 4)
    found, marks = room.take(images * places, 4), room.take(images * places, 4)
    compared = Compared(room, images, taking, "float32")
    made = best(job, room, marks, "float32", (images, places, taking))
    if made is None:
        return None
    order, sorts = made

    def spread(word: str, count: int, *args: Arg) -> Launch:
        return job.spread("proposal", f"proposal_{word}_float32", count, *args)

    def whole(first: int) -> Arg:
        some = kinds[first : first + KINDS]
        numbers = images, rows, columns, len(kinds), taking, after, int(attrs["iou_loss"])
        shapes = [x for shape in some for x in shape] + [0.0] * (2 * (KINDS - len(some)))
        reals = attrs["feature_stride"], attrs["rpn_min_size"], *shapes
        words = map(int64, (*numbers, first, len(some)))
        return struct(*words, *(float32(float(x)) for x in reals))

    launches = []
    for first in range(0, len(kinds), KINDS):
        count = images * rows * columns * min(KINDS, len(kinds) - first)
        given = *map(input_at, range(3)), corners, found, marks, whole(first)
        launches.append(spread("boxes", count, *given))
    own = compared.places, compared.classes, compared.fates
    launches += [*sorts, spread("places", images * taking, corners, order, *own, whole(0))]
    launches.append(compared.suppress(job, single(attrs["threshold"]), False, 1.0, after))
    scored = len(job.outputs) > 1
    ends = output_at(0), output_at(1) if scored else nothing()
    args = compared.places, found, order, compared.kept, *ends, whole(0)
    reqs = req(0), req(1) if scored else int32(0)
    launches.append(spread("write", images * after, *args, *reqs))
    return Recipe(tuple(launches), room.bytes)
