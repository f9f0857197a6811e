"""Recipes of softmax with the gradient of the cross entropy."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    Shape,
    float64,
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
from ..recipe_folds import along
from .loss import counting
from .softmax import shares

__all__: list[str] = []


def layout(job: Job, shape: Shape) -> tuple[int, int, int]:
    """The extents before the classes, the classes, and the extents behind them."""
    if job.attrs["multi_output"]:
        return shape[0], shape[1], prod(shape[2:])
    if job.attrs["preserve_shape"]:
        return prod(shape[:-1]), shape[-1], 1
    return shape[0], prod(shape[1:]), 1


@recipe("SoftmaxOutput")
def forward(job: Job) -> Recipe | None:
    """A softmax; nobody looks at the labels."""
    shape, dtype = job.inputs[0]
    outer, classes, inner = layout(job, shape)
    if prod(shape) == 0:
        return Recipe(())
    place = outer, classes, inner
    how = shares(job.limits, place, dtype, dtype)
    args = input_at(0), nothing(), int32(0), output_at(0), along(*place)
    entry = f"softmax_forward_{dtype}_{dtype}"
    launch = Launch("softmax", entry, how.grid, how.block, (*args, float64(1.0), req(0)))
    return Recipe((launch,))


def divisor(job: Job, out: Shape, labels: int) -> float:
    """What gradients are divided by where nothing is counted."""
    multi, how = job.attrs["multi_output"], job.attrs["normalization"]
    positions = max(prod(out[2:]), 1) if multi else 1
    samples = out[0] if multi else labels
    return float(positions * (max(samples, 1) if how == "batch" else 1))


def loss_of(job: Job, out: Shape, label: Shape) -> Arg:
    """As an ``fm::Loss``."""
    attrs, (_, classes, inner) = job.attrs, layout(job, out)
    smooth = 0.0 if attrs["multi_output"] else attrs["smooth_alpha"]
    soft = label == out
    whole = prod(out), classes, inner, soft, attrs["use_ignore"], int(attrs["ignore_label"])
    divided = 1.0 if soft else divisor(job, out, prod(label))
    reals = 1.0 - smooth, smooth / max(classes - 1.0, 1.0), attrs["grad_scale"], divided
    return struct(*map(int64, whole), *map(float64, reals))


@recipe("_backward_SoftmaxOutput")
def backward(job: Job) -> Recipe | None:
    """One pass, after the labels have been counted where their number matters."""
    first = int(job.attrs["out_grad"])
    (out, dtype), (label, _) = job.inputs[first:]
    size, parts, launches = prod(out), 0, []
    if size == 0:
        return Recipe(())
    if job.attrs["normalization"] == "valid" and label != out:
        entry, rule = f"softmax_output_count_{dtype}", int64(int(job.attrs["ignore_label"]))
        data = input_at(first + 1)
        launch, parts = counting("softmax_output", entry, data, prod(label), rule)
        launches.append(launch)
    head = input_at(0) if first else nothing()
    counts = workspace() if parts else nothing()
    args = head, input_at(first), input_at(first + 1), output_at(0), loss_of(job, out, label)
    entry = f"softmax_output_backward_{dtype}"
    last = *args, counts, int64(parts), req(0)
    launches.append(job.spread("softmax_output", entry, size, *last))
    return Recipe(tuple(launches), 8 * parts)
