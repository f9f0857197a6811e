"""Recipes of the fully connected layer, of products of matrices and sums of columns."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, recipe
from ..recipe_folds import fold
from .dot import Operand, product

__all__: list[str] = []


def sizes(job: Job, data: int) -> tuple[int, int, int]:
    """Rows, their width, and outputs of each."""
    shape = job.inputs[data][0]
    cut = 1 if job.attrs["flatten"] else len(shape) - 1
    return prod(shape[:cut]), prod(shape[cut:]), job.attrs["num_hidden"]


@recipe("FullyConnected")
def forward(job: Job) -> Recipe | None:
    """The product, to whose columns the bias is added."""
    rows, width, hidden = sizes(job, 0)
    bias = None if job.attrs["no_bias"] else input_at(2)
    data, weight = (
        Operand(input_at(0), rows, width),
        Operand(input_at(1), width, hidden, flip=True),
    )
    launches, temporary = product(job, data, weight, 0, bias)
    return Recipe(tuple(launches), temporary)


@recipe("_backward_FullyConnected")
def backward(job: Job) -> Recipe | None:
    """The gradients of data, weight and bias, in the same temporary memory."""
    rows, width, hidden = sizes(job, 1)
    grad, flipped = (
        Operand(input_at(0), rows, hidden),
        Operand(input_at(0), hidden, rows, flip=True),
    )
    data, weight = Operand(input_at(1), rows, width), Operand(input_at(2), hidden, width)
    parts = [product(job, grad, weight, 0), product(job, flipped, data, 1)]
    launches = [one for launches, _ in parts for one in launches]
    temporary = max(bytes for _, bytes in parts)
    if job.attrs["no_bias"]:
        return Recipe(tuple(launches), temporary)
    entry = f"reduce_sum_{job.inputs[0][1]}"
    sums = fold(job, "reduce", entry, (rows, hidden), [True, False], number=2)
    return sums and Recipe((*launches, *sums.launches), max(temporary, sums.temporary))
