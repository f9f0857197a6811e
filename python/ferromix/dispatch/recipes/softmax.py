"""Recipes of softmax, softmin and the logarithm of softmax, and of their gradients."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import (
    Job,
    Launch,
    Limits,
    Recipe,
    float64,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    req,
)
from ..recipe_folds import Split, along, rows_split, split

__all__: list[str] = []

LENGTHS = ["int32", "int64"]
KEPT, KEPT_DOUBLES = 16, 8
"""Elements of a row that a thread keeps."""


@recipe("softmax", "softmin", "log_softmax", "_backward_softmax", "_backward_log_softmax")
def softmax(job: Job) -> Recipe | None:
    """One launch; a gradient whose arrays have several types is the CPU's."""
    back = job.name.startswith("_backward")
    masked = bool(job.attrs.get("use_length"))
    numbers = job.inputs[:-1] if masked else job.inputs
    (shape, dtype), result = numbers[0], job.outputs[0][1]
    if not {dtype, result} <= set(FLOATS) or (masked and job.inputs[-1][1] not in LENGTHS):
        return None
    if back and {t for _, t in numbers} != {result}:
        return None
    log = "log" in job.name
    if back:
        entry = f"softmax_backward{'_log' * log}_{dtype}"
    else:
        entry = f"softmax_{'log' if log else 'forward'}_{dtype}_{result}"
    given = [input_at(i) for i in range(len(numbers))]
    lengths = input_at(len(numbers)) if masked else nothing()
    wide = int32(masked and job.inputs[-1][1] == "int64")
    place = around(job, shape)
    how = shares(job.limits, place, dtype, result)
    rest = lengths, wide, output_at(0), along(*place), float64(temperature(job)), req(0)
    return Recipe((Launch("softmax", entry, how.grid, how.block, (*given, *rest)),))


def around(job: Job, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """What lies before, on and after the axis."""
    axis = job.attrs.get("axis")
    at = (-1 if axis is None else axis) % len(shape)
    return prod(shape[:at]), shape[at], prod(shape[at + 1 :])


def shares(limits: Limits, place: tuple[int, int, int], dtype: str, result: str) -> Split:
    """How threads share lines; rows of one type are read in packs."""
    outer, count, inner = place
    if inner == 1 and dtype == result:
        return rows_split(limits, outer, count, KEPT_DOUBLES if dtype == "float64" else KEPT)
    return split(limits, outer * inner, count, inner)


def temperature(job: Job) -> float:
    """What the data are divided by."""
    given = job.attrs.get("temperature")
    value = 1.0 if given is None else float(given)
    return -value if job.name == "softmin" else value
