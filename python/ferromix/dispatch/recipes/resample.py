"""Recipes of images of another size, and of the ways back."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Recipe, input_at, output_at, recipe, req
from ..recipe_folds import words

__all__: list[str] = []

KINDS = {"nearest_upsampling": 0, "contrib_AdaptiveAvgPooling2D": 1, "contrib_BilinearResize2D": 2}
"""How samples are made, as the source numbers it."""
CORNERS = 3


@recipe(*(f"_{name}" for name in KINDS))
def forward(job: Job) -> Recipe | None:
    """A thread for each sample."""
    return resampled(job, "forward", job.name.removeprefix("_"))


@recipe(*(f"_backward_{name}" for name in KINDS))
def backward(job: Job) -> Recipe | None:
    """A thread for each element of the data."""
    return resampled(job, "backward", job.name.removeprefix("_backward_"))


def resampled(job: Job, word: str, name: str) -> Recipe | None:
    """One launch; the first input and the output are the two ends."""
    (first, dtype), (out, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype not in FLOATS:
        return None
    small, large = (first, out) if word == "forward" else (out, first)
    kind = CORNERS if job.attrs.get("align_corners") else KINDS[name]
    images = words(prod(small[:2]), kind, small[2], large[2], small[3], large[3])
    given = input_at(0), output_at(0), images, req(0)
    return Recipe((job.spread("resample", f"resample_{word}_{dtype}", prod(out), *given),))
