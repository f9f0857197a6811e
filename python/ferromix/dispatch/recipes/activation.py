"""Recipes of activations and their gradients."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Arg, Job, Launch, Recipe, float64, input_at, output_at, recipe, req
from ..recipe_folds import along, packed_walk, split, strides_of
from .elemwise import elementwise

__all__: list[str] = []

ACTIVATIONS = ["relu", "sigmoid", "tanh", "softrelu", "softsign"]
SELU = 1.6732632423543772, 1.0507009873554805
"""Slope and scale of Klambauer et al., "Self-Normalizing Neural Networks" (2017)."""


@recipe("Activation", "_backward_Activation")
def activation(job: Job) -> Recipe | None:
    """A function, or its gradient from the output (softsign: from the input)."""
    back = job.name.startswith("_backward")
    word = job.attrs["act_type"]
    if word not in ACTIVATIONS:
        return None
    return function(job, word, back)


def function(job: Job, word: str, back: bool, *numbers: Arg) -> Recipe | None:
    """One launch."""
    name = f"{word}_backward" if back else word
    return elementwise(job, "activation", name, *numbers, inputs=1 + back, types=FLOATS)


@recipe("LeakyReLU", "_backward_LeakyReLU")
def leaky(job: Job) -> Recipe | None:
    """Functions with a slope below zero, and their gradients."""
    back = job.name.startswith("_backward")
    match job.attrs["act_type"]:
        case "leaky" | "elu" as word:
            return function(job, word, back, job.number("slope"), float64(1.0))
        case "selu":
            return function(job, "elu", back, *map(float64, SELU))
        case "gelu":
            return function(job, "gelu", back)
        case "prelu":
            return learned(job, back)
    return None


def learned(job: Job, back: bool) -> Recipe | None:
    """One slope, or one for each channel.

    The gradient of slopes comes first: that of the data may take the place of what both read.
    """
    dtype, data, slopes = job.outputs[0][1], job.outputs[0][0], prod(job.inputs[-1][0])
    axis = min(1, len(data) - 1)
    outer, inner = (prod(data), 1) if slopes == 1 else (prod(data[:axis]), prod(data[axis + 1 :]))
    if any(t != dtype for _, t in job.inputs) or dtype not in FLOATS:
        return None
    shape = (outer, slopes, inner)
    plain, gamma = strides_of(shape), [0, int(slopes > 1), 0]
    layout = packed_walk(shape, *[plain] * (2 + back), gamma)
    if layout is None:
        return None
    inputs = [input_at(i) for i in range(len(job.inputs))]
    entry = f"activation_prelu_backward_{dtype}" if back else f"activation_prelu_{dtype}"
    rest = *inputs, output_at(0), layout, req(0)
    each = job.spread("activation", entry, prod(data), *rest)
    if not back:
        return Recipe((each,))
    how = split(job.limits, slopes, outer * inner, slopes if inner == 1 else 1)
    given = *inputs[:2], output_at(1), along(*shape), req(1)
    sums = Launch("activation", f"activation_prelu_slopes_{dtype}", how.grid, how.block, given)
    return Recipe((sums, each))
