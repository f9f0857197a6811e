"""Recipes of ranges of indices cut out of a tensor, and their way back into zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ops.shapes import normal_axis
from ..recipe import Job, Make, Recipe, Shape, recipe
from ..recipe_affine import Move, whole
from ..recipe_folds import strides_of

__all__: list[str] = []

Starts = Sequence[tuple[int, int]]
"""For each axis of the whole, the first index and the step."""


def ranges(job: Job, shape: Shape, _part: Shape) -> Starts:
    """Those of ``slice``."""
    begin, step = job.attrs["begin"], job.attrs["step"]

    def along(axis: int, n: int) -> tuple[int, int]:
        if axis >= len(begin):
            return 0, 1
        front = begin[axis] + n if begin[axis] < 0 else begin[axis]
        return min(max(front, 0), max(n - 1, 0)), step[axis]

    return [along(axis, n) for axis, n in enumerate(shape)]


def range_of_axis(job: Job, shape: Shape, _part: Shape) -> Starts:
    """Those of ``slice_axis``."""
    axis = normal_axis(job.name, job.attrs["axis"], len(shape))
    begin = job.attrs["begin"] or 0
    first = begin + shape[axis] if begin < 0 else begin
    return [(first if a == axis else 0, 1) for a in range(len(shape))]


def beginnings(_job: Job, shape: Shape, _part: Shape) -> Starts:
    """Those of ``slice_like``."""
    return [(0, 1)] * len(shape)


def window(job: Job, shape: Shape, part: Shape) -> Starts:
    """Those of ``Crop``."""
    offsets = (0, 0, *job.attrs["offset"])
    if job.attrs["center_crop"]:
        offsets = 0, 0, *((n - m) // 2 for n, m in zip(shape[2:], part[2:], strict=True))
    return [(max(first, 0), 1) for first in offsets]


def cut(starts: Starts, shape: Shape, part: Shape) -> Move:
    """From the whole to the part."""
    steps = strides_of(shape)
    pairs = list(zip(steps, starts, strict=True))
    from_ = (s * step for s, (_, step) in pairs)
    axes = tuple(zip(part, from_, strides_of(part), strict=True))
    return Move(axes, sum(s * first for s, (first, _) in pairs))


def enter(name: str, rule: Callable[[Job, Shape, Shape], Starts]) -> None:
    """Registers the recipes of an operator and of its way back."""

    def there(job: Job) -> Recipe | None:
        shape, part = job.inputs[0][0], job.outputs[0][0]
        return whole(job, cut(rule(job, shape, part), shape, part))

    def back(job: Job) -> Recipe | None:
        shape, part = job.outputs[0][0], job.inputs[0][0]
        return whole(job, cut(rule(job, shape, part), shape, part).back())

    makers: list[tuple[str, Make]] = [(name, there), (f"_backward_{name}", back)]
    for row, make in makers:
        recipe(row)(make)


enter("slice", ranges)
enter("slice_axis", range_of_axis)
enter("slice_like", beginnings)
enter("Crop", window)
