"""Recipes of functions of numbers of eight bits with ranges."""

from __future__ import annotations

from math import prod

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
    workspace,
)
from ..recipe_folds import words
from ..recipe_indices import OUTSIDE
from ..recipe_levels import calibrated, copied, ends, flat, moved, shown
from ..recipe_lines import lines_of
from .take import gathered

__all__: list[str] = []

MOST_RANGES = 32
"""Ranges that a launch joins."""


@recipe("_contrib_quantized_act")
def act(job: Job) -> Recipe | None:
    """Some elements for each thread."""
    count, given = prod(job.outputs[0][0]), ends(input_at(1), input_at(2))
    args = input_at(0), output_at(0), given, shown(job), flat(count), req(0)
    return Recipe((job.spread("quantized", "quantized_relu_int8", count, *args),))


@recipe("_contrib_quantized_flatten")
def flatten(job: Job) -> Recipe | None:
    """The numbers as they are."""
    given = ends(input_at(1), input_at(2))
    return Recipe((copied(job, prod(job.outputs[0][0])), moved(job, given)))


@recipe("_contrib_quantized_embedding")
def embedding(job: Job) -> Recipe | None:
    """Rows of the table."""
    found = gathered(job, 1, 0, 0, OUTSIDE["clip"])
    given = ends(input_at(2), input_at(3))
    return Recipe((*found.launches, moved(job, given)), found.temporary)


def pair(job: Job, word: str, to: Arg) -> Recipe:
    """What is made of two tensors, element by element."""
    (shape, dtype), range_of = job.outputs[0], calibrated(job)
    low, high = range_of or (0.0, 0.0)
    sides = ends(input_at(2), input_at(3)), ends(input_at(4), input_at(5))
    kinds = (int32(int(d == "uint8")) for _, d in job.inputs[:2])
    has_range = int32(int(range_of is not None))
    given = struct(*sides, float32(low), float32(high), has_range, *kinds, int32(0))
    count = prod(shape)
    args = input_at(0), input_at(1), output_at(0), given, to, flat(count, 3), req(0)
    return Recipe((job.spread("quantized", f"quantized_{word}_{dtype}", count, *args),))


@recipe("_contrib_quantized_elemwise_add")
def add(job: Job) -> Recipe | None:
    """Sums in the range that is known, or in that of both magnitudes."""
    return pair(job, "add", shown(job))


@recipe("_contrib_quantized_elemwise_mul")
def multiply(job: Job) -> Recipe | None:
    """Products as they are, as real numbers, or in the range that is known."""
    none = struct(nothing(), nothing(), int32(0), int32(0))
    return pair(job, "multiply", shown(job) if len(job.outputs) > 1 else none)


@recipe("_contrib_quantized_concat")
def concat(job: Job) -> Recipe | None:
    """The widest of all ranges, and then a launch for each tensor."""
    (out, dtype), n = job.outputs[0], job.attrs["num_args"]
    joined, none = workspace(), struct(nothing(), nothing(), int32(0), int32(0))
    launches: list[Launch] = []
    for first in range(0, n, MOST_RANGES):
        numbers = range(first, min(first + MOST_RANGES, n))
        table = [input_at(n + 2 * i + side) for i in numbers for side in (0, 1)]
        table += [nothing()] * (2 * (MOST_RANGES - len(numbers)))
        arg = struct(*table, int64(len(numbers)), int64(first))
        args = arg, joined, shown(job) if numbers[-1] == n - 1 else none
        launches.append(job.spread("quantized", "quantized_join_float32", 1, *args))
    axis, at = job.attrs["dim"], 0
    lines, extent, inner = lines_of(out, axis)
    for i, (shape, source) in enumerate(job.inputs[:n]):
        line = lines_of(shape, axis)[1] * inner
        place = words(lines, line, at, extent * inner, source == "uint8")
        own = ends(input_at(n + 2 * i), input_at(n + 2 * i + 1))
        args = input_at(i), output_at(0), own, joined, place, req(0)
        launches.append(job.spread("quantized", f"quantized_part_{dtype}", lines * line, *args))
        at += line
    return Recipe(tuple(launches), temporary=8)


@recipe("_contrib_quantized_batch_norm")
def batch_norm(job: Job) -> Recipe | None:
    """A factor and a shift for each channel, and then numbers from numbers."""
    (shape, dtype), range_of = job.inputs[0], calibrated(job)
    assert range_of is not None, "the operator asks for it"
    channels, plane, scales = shape[1], prod(shape[2:]), workspace()
    made = struct(*map(float32, range_of))
    eps, given = float32(float(job.attrs["eps"])), ends(input_at(5), input_at(6))
    args = *map(input_at, range(1, 5)), given, made, eps, int64(channels), scales
    first = job.spread("quantized", "quantized_scales_float32", channels, *args)
    sizes = map(int64, (plane, channels, prod(shape)))
    args = input_at(0), scales, output_at(0), made, shown(job), *sizes, req(0)
    last = job.spread("quantized", f"quantized_normalize_{dtype}", prod(shape), *args)
    return Recipe((first, last), temporary=8 * channels)
