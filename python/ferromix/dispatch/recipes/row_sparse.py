"""The recipe of numbers of rows."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, int64, output_at, recipe, refusal, req

__all__: list[str] = []


@recipe("_row_numbers")
def numbers(job: Job) -> Recipe | None:
    """A thread for each."""
    (shape, dtype), height = job.inputs[0], job.attrs["height"]
    if dtype == "bool":
        return None
    ends = input_at(0), output_at(0), int64(prod(shape)), int64(height), req(0), refusal()
    launch = job.spread("indices", f"indices_numbers_{dtype}", prod(shape), *ends)
    text = (
        f"Embedding: number {{}} is not that of a row; there are {height} rows, counted from 0, "
        "and a row_sparse weight or gradient takes no nearest one"
    )
    return Recipe((launch,), refusals=(("index", text),))
