"""Recipes of changes of the colours of an image."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ops.family import NUMBERS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    draws,
    field,
    input_at,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)

__all__: list[str] = []

KINDS = {"brightness": 0, "contrast": 1, "saturation": 2, "hue": 3}
"""Changes of colours, as the source numbers them."""
LIGHTING = 4
FIXED, EVEN, NORMAL, ALL = range(4)
"""Where amounts come from, as the source numbers it."""
CHUNK = 4096
"""Pixels whose gray is added up as one number."""


@recipe(*(f"_image_random_{word}" for word in KINDS))
def even(job: Job) -> Recipe | None:
    """By an amount between two."""
    kind = KINDS[job.name.removeprefix("_image_random_")]
    amounts = job.attrs["min_factor"], job.attrs["max_factor"]
    return changed(job, kind, EVEN, amounts, kind == KINDS["contrast"])


@recipe("_image_random_color_jitter")
def all_but_lighting(job: Job) -> Recipe | None:
    """By the four, in any order."""
    return changed(job, 0, ALL, [job.attrs[word] for word in KINDS], True)


@recipe("_image_adjust_lighting")
def lighting(job: Job) -> Recipe | None:
    """By given amounts."""
    return changed(job, LIGHTING, FIXED, job.attrs["alpha"][:3], False)


@recipe("_image_random_lighting")
def random_lighting(job: Job) -> Recipe | None:
    """By amounts of a deviation."""
    return changed(job, LIGHTING, NORMAL, [job.attrs["alpha_std"]], False)


def changed(
    job: Job, kind: int, source: int, amounts: Sequence[float], needs_mean: bool
) -> Recipe | None:
    """A thread for each pixel, after the sums of gray if there are to be any."""
    (shape, dtype), (_, to) = job.inputs[0], job.outputs[0]
    if dtype != to or dtype not in NUMBERS:
        return None
    pixels, channels = prod(shape[:2]), shape[2]
    numbers = [*map(float, amounts), *[0.0] * (4 - len(amounts))]
    change = struct(*map(field, (pixels, channels, kind, source, *numbers)))
    # Threads of a block join their sums by halves.
    threads = 1 << (job.limits.threads.bit_length() - 1)
    stream = struct(field(0), field(0)) if source == FIXED else draws()

    def launch(entry: str, blocks: int, *args: Arg) -> Launch:
        return Launch("jitter", entry, (blocks, 1, 1), (1, threads, 1), args)

    chunks = -(-pixels // CHUNK) if needs_mean else 0
    sums = workspace() if needs_mean else nothing()
    given = input_at(0), output_at(0), sums, change, stream, req(0)
    last = launch(f"jitter_{dtype}", job.blocks(pixels, threads), *given)
    if not needs_mean:
        return Recipe((last,))
    given = input_at(0), sums, change, stream
    first = launch(f"jitter_gray_{dtype}", job.blocks(chunks, 1), *given)
    return Recipe((first, last), temporary=8 * chunks)
