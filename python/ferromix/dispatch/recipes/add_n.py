"""The recipe of the sum of any number of tensors."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, int32, int64, nothing, output_at, recipe, req, struct

__all__: list[str] = []

AT_ONCE = 8
"""Terms of a launch, as the source has them."""


@recipe("add_n")
def add_n(job: Job) -> Recipe | None:
    """As many launches as there are groups of terms, from left to right."""
    shape, dtype = job.outputs[0]
    launches = []
    for first in range(0, len(job.inputs), AT_ONCE):
        terms = [input_at(i) for i in range(first, min(first + AT_ONCE, len(job.inputs)))]
        rest = [nothing()] * (AT_ONCE - len(terms))
        given = struct(int64(len(terms)), *terms, *rest), output_at(0), int64(prod(shape))
        more = int32(int(first > 0))
        launches.append(job.spread("add_n", f"add_n_{dtype}", prod(shape), *given, more, req(0)))
    return Recipe(tuple(launches))
