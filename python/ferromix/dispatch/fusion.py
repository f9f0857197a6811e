"""Kernels generated for groups of operators that compute element by element on a GPU.

What an operator computes is in its row of the CUDA sources: ``FM_REAL(exp, fm::exponential(x))``.
Its recipe names that row, so operators whose recipe is one launch of such a row can be fused
without being listed anywhere. Every result is rounded to its type, as if it had gone through
memory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from ..ops.card import OperatorProperty
from ..ops.family import FLOATS
from ..ops.fused import Fused
from . import source
from .recipe import Arg, Job, Launch, Limits, Recipe, find, input_at, output_at, req, walk
from .recipe_folds import MAX_RANK

__all__ = ["is_elementwise", "is_on", "recipe_of"]

STEMS = {"math": "x", "elemwise": "x", "binary": "ab", "scalar": "x", "activation": "x"}
"""CUDA sources of one expression a row, and what its inputs are called there."""
BACKWARD = "gy"
"""The same for gradients of activations."""
HEADERS = ("map.cuh", "real.cuh", "special.cuh", "whole.cuh", "activations.cuh")
ENTRY = "fused"

Desc = tuple[tuple[int, ...], str]


@dataclass(frozen=True)
class Element:
    """One operator of a group: an expression of C++, its inputs by name, and a number."""

    expression: str
    names: str
    number: Arg | None


def is_on() -> bool:
    """Whether graphs on GPUs are fused; ``FERROMIX_GPU_FUSION=0`` says no."""
    return os.environ.get("FERROMIX_GPU_FUSION") != "0"


@cache
def is_elementwise(
    card: OperatorProperty, inputs: tuple[Desc, ...], output: Desc, is_train: bool
) -> bool:
    """Whether an operator may be a part of a generated kernel."""
    return _element(card, inputs, output, is_train) is not None


def _element(
    card: OperatorProperty, inputs: Sequence[Desc], output: Desc, is_train: bool
) -> Element | None:
    """What the row of an operator computes, if it is one expression of floats."""
    shape, dtype = output
    make = find(card.kernel_name())
    if make is None or dtype not in FLOATS or len(shape) > MAX_RANK or card.dynamic_params():
        return None
    if len(card.output_names) != 1 or card.mutated_inputs():
        return None
    attrs, limits = card.kernel_attrs(is_train), Limits(processors=1)
    job = Job(card, card.kernel_name(), attrs, inputs, [output], is_train, (), limits)
    recipe = make(job)
    if recipe is None or len(recipe.launches) != 1:
        return None
    (launch,) = recipe.launches
    if not isinstance(launch, Launch):
        return None
    word = launch.entry.removeprefix(f"{launch.stem}_").removesuffix(f"_{dtype}")
    expression = source.expressions(launch.stem).get(word) if launch.stem in STEMS else None
    if expression is None:
        return None
    names = BACKWARD if word.endswith("_backward") else STEMS[launch.stem]
    numbers = [arg for arg in launch.args if arg[0] == "bytes"]
    if len(inputs) != len(names) or len(numbers) != (launch.stem == "scalar"):
        return None
    return Element(expression, names, numbers[0] if numbers else None)


def recipe_of(job: Job, card: Fused) -> Recipe:
    """One launch of the kernel that computes all parts of a card."""
    (output,) = job.outputs
    values = [*job.inputs, *[output] * len(card.parts)]
    elements: list[Element] = []
    for part, given in card.parts:
        element = _element(part, [values[i] for i in given], output, job.is_train)
        assert element is not None, "the pass asks is_elementwise first"
        elements.append(element)
    numbers = [e.number for e in elements if e.number]
    given = [input_at(i) for i in range(card.inputs)]
    out = output_at(0)
    count = 1
    for extent in output[0]:
        count *= extent
    args = *given, out, *numbers, walk(out, *given), req(0)
    launch = job.spread("fused", ENTRY, count, *args)
    return Recipe((replace(launch, text=_text(card, elements, output[1])),), strided=True)


def _text(card: Fused, elements: Sequence[Element], dtype: str) -> str:
    """The kernel of a group: a function for each part, and the loop that calls them in order."""
    lines = [f'#include "{name}"' for name in HEADERS]
    lines += [f"typedef {dtype} T;", "typedef fm::Compute<T> C;"]
    body = [f"const C v{i} = fm::convert<C>(at[{i}]);" for i in range(card.inputs)]
    scalars: list[str] = []
    for k, (element, (_, given)) in enumerate(zip(elements, card.parts, strict=True)):
        parameters = [f"C {name}" for name in element.names]
        passed = [f"v{i}" for i in given]
        if element.number:
            parameters.append("C s")
            passed.append(f"s{len(scalars)}")
            scalars.append(f"n{len(scalars)}")
        lines.append(
            f"__device__ __forceinline__ C part{k}({', '.join(parameters)}) "
            f"{{ return (C)({element.expression}); }}"
        )
        call = f"part{k}({', '.join(passed)})"
        body.append(f"const C v{card.inputs + k} = fm::convert<C>(fm::convert<T>({call}));")
    inputs = ", ".join(f"const T *in{i}" for i in range(card.inputs))
    numbers = "".join(f"float64 {n}, " for n in scalars)
    count = card.inputs
    lines += [
        f'extern "C" __global__ void {ENTRY}({inputs}, T *out, {numbers}'
        f"const __grid_constant__ fm::Walk<{count + 1}> walk, int req) {{",
        f"const T *const in[{count}] = {{{', '.join(f'in{i}' for i in range(count))}}};",
        *(f"const C s{i} = fm::convert<C>(fm::convert<T>({n}));" for i, n in enumerate(scalars)),
        f"fm::map<fm::few_lanes<T, T>>(out, in, walk, req, [=](const T(&at)[{count}]) {{",
        *body,
        f"return v{count + len(elements) - 1};",
        "});",
        "}",
    ]
    return source.inlined("\n".join(lines))
