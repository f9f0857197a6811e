"""Recipes of functions of one tensor, element by element."""

from __future__ import annotations

from math import prod

from ...ops.family import ALL_TYPES, NUMBERS
from ..recipe import Arg, Job, Recipe, input_at, output_at, recipe, req, walk
from ..recipe_folds import MAX_RANK, packed_walk, strides_of

__all__ = ["elementwise"]

PLAIN = ["negative", "abs", "sign", "square", "relu", "logical_not", "floor", "ceil", "trunc"]


def elementwise(
    job: Job, stem: str, word: str, *numbers: Arg, inputs: int = 1, types: tuple[str, ...] = NUMBERS
) -> Recipe | None:
    """One launch over the first output, to which the first `inputs` of the inputs broadcast.

    The entry point is named by stem, word and the one type that all have, which must be one of
    `types`. `numbers` come before the walk.
    """
    dtype = job.outputs[0][1]
    if dtype not in types or any(given != dtype for _, given in job.inputs[:inputs]):
        return None
    return over_output(job, stem, f"{stem}_{word}_{dtype}", *numbers, inputs=inputs)


def over_output(job: Job, stem: str, entry: str, *numbers: Arg, inputs: int = 1) -> Recipe | None:
    """The same for an entry point with other types in its name."""
    out, given = output_at(0), [input_at(i) for i in range(inputs)]
    shape = job.outputs[0][0]
    strided = len(shape) <= MAX_RANK
    rows = [_spread(small, shape) for small, _ in job.inputs[:inputs]]
    layout = walk(out, *given) if strided else packed_walk(shape, strides_of(shape), *rows)
    if layout is None:
        return None
    launch = job.spread(stem, entry, prod(shape), *given, out, *numbers, layout, req(0))
    return Recipe((launch,), strided=strided)


def _spread(small: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """The strides with which an array broadcasts to a shape."""
    pairs = zip(small, strides_of(small), strict=True)
    return [*[0] * (len(shape) - len(small)), *[0 if n == 1 else step for n, step in pairs]]


@recipe(*PLAIN, "round", "rint", "_copy")
def plain(job: Job) -> Recipe | None:
    """A function without attributes."""
    types = ALL_TYPES if job.name in ("_copy", "logical_not") else NUMBERS
    return elementwise(job, "elemwise", job.name.lstrip("_"), types=types)


@recipe("Cast")
def cast(job: Job) -> Recipe | None:
    """A conversion."""
    types = job.inputs[0][1], job.outputs[0][1]
    if not set(types) <= set(ALL_TYPES):
        return None
    return over_output(job, "elemwise", "elemwise_Cast_{}_{}".format(*types))


@recipe("clip")
def clip(job: Job) -> Recipe | None:
    """Within two bounds."""
    return elementwise(job, "elemwise", "clip", job.number("a_min"), job.number("a_max"))
