"""Recipes of functions of one tensor, element by element."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, output_at, recipe, req, walk

__all__ = ["elementwise"]

PLAIN = ["negative", "abs", "sign", "square", "relu", "logical_not", "floor", "ceil", "trunc"]


def elementwise(job: Job, stem: str, entry: str, *numbers: tuple[str, object]) -> Recipe:
    """One launch over the output, whose inputs broadcast to it; `numbers` come before the walk."""
    inputs = [input_at(i) for i in range(len(job.inputs))]
    out = output_at(0)
    shape = job.outputs[0][0]
    launch = job.spread(
        stem, entry, prod(shape), *inputs, out, *numbers, walk(out, *inputs), req(0)
    )
    return Recipe((launch,), strided=True)


@recipe(*PLAIN, "round", "rint", "_copy")
def plain(job: Job) -> Recipe | None:
    """A function without attributes."""
    return elementwise(job, "elemwise", f"elemwise_{job.name.lstrip('_')}_{job.inputs[0][1]}")


@recipe("Cast")
def cast(job: Job) -> Recipe | None:
    """A conversion."""
    entry = f"elemwise_Cast_{job.inputs[0][1]}_{job.outputs[0][1]}"
    return elementwise(job, "elemwise", entry)


@recipe("clip")
def clip(job: Job) -> Recipe | None:
    """Within two bounds."""
    entry = f"elemwise_clip_{job.inputs[0][1]}"
    return elementwise(job, "elemwise", entry, job.number("a_min"), job.number("a_max"))
