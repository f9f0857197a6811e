"""Recipes of the gradient of MakeLoss, and how losses count."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    float64,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    workspace,
)

__all__ = ["counting"]

THREADS, MOST_PARTS = 256, 64


def counting(stem: str, entry: str, data: Arg, size: int, rule: Arg) -> tuple[Launch, int]:
    """A launch that counts some of ``size`` elements, and how many blocks have a number each."""
    parts = max(1, min(MOST_PARTS, size // (4 * THREADS)))
    args = data, int64(size), rule, workspace()
    return Launch(stem, entry, (parts, 1, 1), (1, THREADS, 1), args), parts


@recipe("_backward_MakeLoss")
def make_loss(job: Job) -> Recipe | None:
    """A number everywhere, after counting where it depends on the elements."""
    shape, dtype = job.inputs[0]
    size, how = prod(shape), job.attrs["normalization"]
    if size == 0:
        return Recipe(())
    launches, parts, divisor = [], 0, prod(shape[:-1]) if how == "batch" else 1
    if how == "valid":
        rule = job.number("valid_thresh")
        launch, parts = counting("loss", f"loss_count_{dtype}", input_at(0), size, rule)
        launches.append(launch)
    counts = workspace() if parts else nothing()
    numbers = job.number("grad_scale"), float64(float(divisor)), counts, int64(parts)
    args = output_at(0), int64(size), *numbers, req(0)
    launches.append(job.spread("loss", f"loss_backward_{dtype}", size, *args))
    return Recipe(tuple(launches), 8 * parts)
