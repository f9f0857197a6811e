"""Recipes of images as tensors, normalized, turned round and in another size."""

from __future__ import annotations

from math import prod

from ...ops.family import ALL_TYPES, NUMBERS, REALS
from ..recipe import (
    Arg,
    Job,
    Recipe,
    draws,
    field,
    input_at,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import along, words

__all__: list[str] = []

AREA, COVERED, HALVED = 3, 5, 6
"""Ways to make samples, as the source numbers them; to 4 they are OpenCV's, whose 5 is its 1."""
LINEAR = (1, 5)
TAPS = 64
"""Bytes that say of which samples one is made."""


@recipe("_image_to_tensor")
def to_tensor(job: Job) -> Recipe | None:
    """A thread for each element."""
    (shape, dtype), (out, to) = job.inputs[0], job.outputs[0]
    if dtype not in NUMBERS or to != "float32":
        return None
    planes = words(prod(out), shape[-3] * shape[-2], shape[-1])
    given = input_at(0), output_at(0), planes, req(0)
    return Recipe((job.spread("image", f"image_tensor_{dtype}", prod(out), *given),))


@recipe("_image_normalize")
def normalize(job: Job) -> Recipe | None:
    """A thread for each element; one number for all channels stands for each."""
    (shape, dtype), (_, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype not in NUMBERS:
        return None
    channels = shape[-3]
    planes = prod(shape), shape[-2] * shape[-1], channels
    numbers = [*per_channel(job, "mean", channels), *per_channel(job, "std", channels)]
    norm = struct(*map(field, (*planes, *numbers)))
    given = input_at(0), output_at(0), norm, req(0)
    return Recipe((job.spread("image", f"image_normalize_{dtype}", prod(shape), *given),))


def per_channel(job: Job, name: str, channels: int) -> list[float]:
    """The numbers of three channels."""
    given = [float(x) for x in job.attrs[name]]
    numbers = given * channels if len(given) == 1 else given
    return [*numbers, *[1.0] * (3 - len(numbers))]


@recipe("_image_random_flip_left_right", "_image_random_flip_top_bottom")
def flip(job: Job) -> Recipe | None:
    """A thread for each element."""
    shape, dtype = job.outputs[0]
    if job.inputs[0] != job.outputs[0] or dtype not in ALL_TYPES:
        return None
    axis = 1 if job.name.endswith("left_right") else 0
    extents = along(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
    given = input_at(0), output_at(0), extents, draws(), req(0)
    return Recipe((job.spread("image", f"image_flip_{dtype}", prod(shape), *given),))


@recipe("_image_resize")
def resize(job: Job) -> Recipe | None:
    """The samples that each line and column of samples is made of, then the images."""
    (_, dtype), (out, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype not in (*REALS, "uint8"):
        return None
    images = images_of(job)
    lines = out[-3] + out[-2]
    taps = job.spread("image", "image_taps_float32", lines, workspace(), images)
    given = input_at(0), output_at(0), workspace(), images, req(0)
    launch = job.spread("image", f"image_resize_{dtype}", prod(out), *given)
    return Recipe((taps, launch), temporary=TAPS * lines)


def images_of(job: Job) -> Arg:
    """An ``fm::Images``."""
    (*_, high, wide, channels), (*_, rows, columns, _) = job.inputs[0][0], job.outputs[0][0]
    kind = job.attrs["interp"]
    kind = LINEAR[0] if kind in LINEAR else kind
    if kind in (LINEAR[0], AREA) and (high, wide) == (2 * rows, 2 * columns):
        kind = HALVED
    elif kind == AREA and high >= rows and wide >= columns:
        kind = COVERED
    return words(prod(job.outputs[0][0]), kind, high, wide, rows, columns, channels)
