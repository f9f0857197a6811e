"""Recipes of pooling and its gradients."""

from __future__ import annotations

from math import prod

from ...ops.card import Shape
from ...ops.family import FLOATS
from ..recipe import Arg, Job, Recipe, input_at, output_at, recipe, req
from ..recipe_folds import words

__all__: list[str] = []

KINDS = {"max": "max", "avg": "avg", "sum": "sum"}
POWERS = {1: "sum", 2: "squares", 3: "cubes"}


@recipe("Pooling")
def pooling(job: Job) -> Recipe | None:
    """A thread for each window."""
    return pooled(job, kind_of(job), job.inputs[0][0], job.outputs[0][0])


@recipe("_backward_Pooling")
def gradient(job: Job) -> Recipe | None:
    """A thread for each element of the data."""
    return pooled(job, f"{kind_of(job)}_backward", job.inputs[1][0], job.inputs[2][0])


@recipe("_backward_backward_Pooling")
def pick(job: Job) -> Recipe | None:
    """A thread for each window."""
    return pooled(job, "pick", job.inputs[1][0], job.inputs[2][0])


def kind_of(job: Job) -> str:
    """What becomes of a window."""
    kind = job.attrs["pool_type"]
    return POWERS[job.attrs["p_value"]] if kind == "lp" else KINDS[kind]


def pooled(job: Job, word: str, data: Shape, windows: Shape) -> Recipe | None:
    """One launch, for data and windows of these shapes."""
    shape, dtype = job.outputs[0]
    if dtype not in FLOATS or any(t != dtype for _, t in job.inputs):
        return None
    inputs = [input_at(i) for i in range(len(job.inputs))]
    rest = output_at(0), geometry(job, data, windows), req(0)
    entry = f"pooling_{word}_{dtype}"
    return Recipe((job.spread("pooling", entry, prod(shape), *inputs, *rest),))


def geometry(job: Job, data: Shape, windows: Shape) -> Arg:
    """An ``fm::Pool``."""
    last = (job.attrs.get("layout") or "").endswith("C")
    count = len(data) - 2
    axes = slice(1, -1) if last else slice(2, None)
    outer, inner = (data[0], data[-1]) if last else (data[0] * data[1], 1)
    if job.attrs["global_pool"]:
        kernel, stride, pad = data[axes], (1,) * count, (0,) * count
    else:
        kernel = job.attrs["kernel"]
        stride = job.attrs.get("stride") or (1,) * count
        pad = job.attrs.get("pad") or (0,) * count
    rows = [(1, 1, 1, 1, 0)] * (3 - count)
    rows += zip(data[axes], windows[axes], kernel, stride, pad, strict=True)
    given = job.attrs.get("count_include_pad")
    with_pad = given is None or bool(given)
    return words(outer, inner, *(n for row in rows for n in row), int(with_pad))
