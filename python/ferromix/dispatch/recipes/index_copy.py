"""The recipe of slices that are put in at indices."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, output_at, recipe, req
from ..recipe_indices import OUTSIDE, Rows, groups, out_of_bounds, places

__all__: list[str] = []


@recipe("_contrib_index_copy")
def index_copy(job: Job) -> Recipe | None:
    """The last slice of each index, and the old ones."""
    shape, dtype = job.outputs[0]
    rows = Rows.along(shape, 0, prod(job.inputs[1][0]))
    met = groups(job, rows.count, rows.n)
    if met is None:
        return None
    find = places(job, 1, [rows.n], OUTSIDE["raise"], refused=True)
    given = input_at(0), input_at(2), met.arg, output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_set_{dtype}", rows.whole, *given)
    refusals = out_of_bounds(job.name, [rows.n])
    return Recipe((find, *met.launches, launch), temporary=met.temporary, refusals=refusals)
