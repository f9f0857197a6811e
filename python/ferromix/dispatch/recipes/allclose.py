"""The recipe of the comparison of whole tensors."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, int32, int64, output_at, recipe, req, workspace

__all__: list[str] = []


@recipe("_contrib_allclose")
def close(job: Job) -> Recipe | None:
    """A search that leaves a mark, and what follows from it."""
    shape, dtype = job.inputs[0]
    count, equal_nan = prod(shape), int32(int(job.attrs["equal_nan"]))
    start = job.spread("tensors", "tensors_start_int32", 1, workspace())
    tolerances = job.number("rtol"), job.number("atol"), equal_nan
    given = input_at(0), input_at(1), workspace(), int64(count), *tolerances
    search = job.spread("allclose", f"allclose_search_{dtype}", count, *given)
    given = workspace(), output_at(0), req(0)
    answer = job.spread("allclose", "allclose_verdict_uint8", 1, *given)
    return Recipe((start, search, answer), temporary=4)
