"""The recipe of casts of several tensors at once."""

from __future__ import annotations

from ..recipe import Job, Recipe, input_at, recipe
from ..recipe_lines import convert

__all__: list[str] = []


@recipe("amp_multicast")
def multicast(job: Job) -> Recipe | None:
    """A conversion of each."""
    types = enumerate(dtype for _, dtype in job.inputs)
    return Recipe(tuple(convert(job, input_at(k), dtype, k) for k, dtype in types))
