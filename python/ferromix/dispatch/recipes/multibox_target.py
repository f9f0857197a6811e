"""The recipe of what a detector is to learn."""

from __future__ import annotations

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    float32,
    input_at,
    int64,
    output_at,
    recipe,
    refusal,
    req,
    struct,
)
from ..recipe_room import Room
from .ordering import best

__all__: list[str] = []

STEM = "multibox_target"
MATCH = 8
"""Bytes of an overlap and a number."""
MOST = 2**31 - 1
"""Anchors and labels that 32 bits number."""


@recipe("_contrib_MultiBoxTarget")
def target(job: Job) -> Recipe | None:
    """Matches of anchors and labels, and anchors in order where few of them are negative."""
    attrs, (images, labels, width), (_, classes, anchors) = (
        job.attrs,
        *(d[0] for d in job.inputs[1:]),
    )
    if any(dtype != "float32" for _, dtype in (*job.inputs, *job.outputs)):
        return None
    if max(labels, anchors) > MOST:
        return None
    if anchors == 0:
        return Recipe(())  # nothing has a target
    count, room, limit = images * anchors, Room(), attrs["negative_mining_thresh"]
    overlaps, nearest = room.take(count, MATCH), room.take(images * labels, MATCH)
    roles, counts = room.take(count, 4), room.take(images, 4)
    wanted, marks = room.take(images, 8), room.take(count, 4)
    numbers = attrs["overlap_threshold"], attrs["ignore_label"], attrs["negative_mining_ratio"]
    whole = map(int64, (images, anchors, labels, width, classes))
    arg = struct(*whole, *map(float32, (*numbers, limit, *attrs["variances"])))
    given = input_at(0), input_at(1)
    made = best(job, room, marks, "float32", (images, anchors, anchors))
    if made is None:
        return None

    def spread(word: str, *args: Arg) -> Launch:
        return job.spread(STEM, f"{STEM}_{word}_float32", count, *args)

    def blocks(word: str, each: int, *args: Arg) -> Launch:
        grid, block = (job.blocks(each, 1), 1, 1), (1, job.limits.threads, 1)
        return Launch(STEM, f"{STEM}_{word}_float32", grid, block, args)

    matched = *given, counts, overlaps, nearest, roles, wanted, arg, refusal()
    launches = [
        spread("best", *given, overlaps, counts, arg, refusal()),
        blocks("nearest", images * labels, *given, counts, nearest, arg),
        blocks("pair", images, *matched),
    ]
    if numbers[2] > 0:
        launches.append(spread("marks", input_at(2), overlaps, roles, marks, arg))
        launches += [*made[1], spread("mine", made[0], wanted, roles, arg)]
    ends = *(output_at(k) for k in range(3)), arg, *(req(k) for k in range(3))
    launches.append(spread("write", *given, roles, *ends))
    return Recipe(tuple(launches), room.bytes, refusals=refusals(job.name, limit))


def refusals(name: str, limit: float) -> tuple[tuple[str, str], ...]:
    """What is refused."""
    end = "the label of class -1, which ends those of an image, must have -1 for each coordinate"
    many = "{} negative anchors are wanted, but fewer overlap all labels by less than"
    texts = f"{end}; that of image {{}} has others", f"{many} negative_mining_thresh={limit:g}"
    return tuple(("value", f"{name}: {text}") for text in texts)
