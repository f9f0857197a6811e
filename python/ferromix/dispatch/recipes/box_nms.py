"""Recipes of non-maximum suppression, and of its gradient."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    field,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_room import Room
from .bounding_box import MOST, computed
from .gemm import WIDTH
from .ordering import best

__all__ = ["Compared"]

THREADS = 1024
"""Those of a block that compares boxes at most."""


class Compared:
    """Boxes in the order of their scores, as many of each image.

    Memory of its own holds places, classes, fates, and the boxes that stay.
    """

    def __init__(self, room: Room, images: int, count: int, dtype: str) -> None:
        self.images, self.count, self.dtype = images, count, computed(dtype)
        self.places = room.take(5 * images * count, WIDTH[dtype])
        self.classes = room.take(images * count, 8)
        self.fates = room.take(images * count, 1)
        self.kept = room.take(images * (count + 1), 8)

    def suppress(
        self, job: Job, most: float, by_class: bool, pixel: float = 0.0, enough: int = -1
    ) -> Launch:
        """A block for each image; boxes that overlap by more than `most` exclude each other."""
        enough = self.count if enough < 0 else enough
        numbers = self.images, self.count, enough, int(by_class), most, pixel
        args = self.places, self.classes, self.fates, self.kept, struct(*map(field, numbers))
        grid = job.blocks(self.images, 1), 1, 1
        block = min(THREADS, 4 * job.limits.threads), 1, 1
        return Launch("box_nms", f"box_nms_suppress_{self.dtype}", grid, block, args)


@recipe("_contrib_box_nms")
def nms(job: Job) -> Recipe | None:
    """Boxes in order, a block for each image that compares them, and what stays."""
    (shape, dtype), attrs = job.inputs[0], job.attrs
    if dtype not in FLOATS:
        return None
    *batch, boxes, width = shape
    topk, images = attrs["topk"], prod(batch)
    taking = min(boxes, topk) if topk > 0 else boxes
    places = attrs["coord_start"], attrs["score_index"], max(attrs["id_index"], -1)
    forms = (int(attrs[name] == "center") for name in ("in_format", "out_format"))
    whole = images, boxes, width, *places, taking, int(topk != 0), *forms
    limits = float(attrs["valid_thresh"]), float(attrs["background_id"])
    rows = struct(*map(field, (*whole, *limits)))

    def written(order: Arg, kept: Arg) -> Launch:
        args = input_at(0), order, kept, output_at(0), output_at(1), rows, req(0), req(1)
        return job.spread("box_nms", f"box_nms_write_{dtype}", prod(shape), *args)

    if topk == 0:
        return Recipe((written(nothing(), nothing()),))
    room = Room()
    marks = room.take(images * boxes, WIDTH[dtype])
    compared = Compared(room, images, taking, dtype)
    made = best(job, room, marks, computed(dtype), (images, boxes, taking))
    if made is None:
        return None
    order, sorts = made
    first = job.spread(
        "box_nms", f"box_nms_marks_{dtype}", images * boxes, input_at(0), marks, rows
    )
    args = input_at(0), marks, order, compared.places, compared.classes, compared.fates, rows
    put = job.spread("box_nms", f"box_nms_places_{dtype}", images * taking, *args)
    by_class = attrs["id_index"] >= 0 and not attrs["force_suppress"]
    found = compared.suppress(job, float(attrs["overlap_thresh"]), by_class)
    return Recipe((first, *sorts, put, found, written(order, compared.kept)), room.bytes)


@recipe("_backward_contrib_box_nms")
def backward(job: Job) -> Recipe | None:
    """Each box takes the gradient of the row that came from it."""
    shape, dtype = job.inputs[0]
    *batch, boxes, width = shape
    if dtype not in FLOATS or boxes > MOST:
        return None
    count, room = prod(batch) * boxes, Room()
    slots, many = room.take(count, 4), int64(count)
    sizes = int64(boxes), int64(width), many
    back = input_at(0), slots, output_at(0), *sizes, req(0)
    launches = (
        job.spread("box_nms", "box_nms_clear_int32", count, slots, many),
        job.spread("box_nms", "box_nms_find_int32", count, input_at(1), slots, int64(boxes), many),
        job.spread("box_nms", f"box_nms_back_{dtype}", count * width, *back),
    )
    return Recipe(launches, room.bytes)
