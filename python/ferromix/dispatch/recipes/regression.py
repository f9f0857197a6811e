"""Recipes of losses of regression."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, float64, input_at, int32, int64, output_at, recipe, req, walk

__all__: list[str] = []

ENTRIES = {
    "_regression_linear": ("elemwise", "elemwise_copy"),
    "_regression_logistic": ("math", "math_sigmoid"),
}


@recipe(*ENTRIES)
def forward(job: Job) -> Recipe | None:
    """The data, or a function of them; nobody looks at the labels."""
    stem, entry = ENTRIES[job.name]
    shape, dtype = job.outputs[0]
    args = input_at(0), output_at(0), walk(output_at(0), input_at(0)), req(0)
    return Recipe((job.spread(stem, f"{entry}_{dtype}", prod(shape), *args),), strided=True)


@recipe("_backward_regression")
def backward(job: Job) -> Recipe | None:
    """The difference of output and label, whose shapes may differ, or its sign."""
    (shape, dtype), (labels, _) = job.inputs
    size, samples = prod(shape), labels[0] if labels else 1
    if size == 0:
        return Recipe(())
    each = max(prod(labels) // max(samples, 1), 1)
    scale = float64(job.attrs["grad_scale"] / each)
    args = input_at(0), input_at(1), output_at(0), int64(size), scale
    launch = job.spread(
        "regression",
        f"regression_backward_{dtype}",
        size,
        *args,
        int32(job.attrs["absolute"]),
        req(0),
    )
    return Recipe((launch,))
