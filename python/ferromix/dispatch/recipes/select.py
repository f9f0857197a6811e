"""The recipe of choices between the elements of two tensors."""

from __future__ import annotations

from math import prod

from ..recipe import Job, Recipe, input_at, int64, output_at, recipe, req, workspace

__all__: list[str] = []


@recipe("where")
def where(job: Job) -> Recipe | None:
    """Truth values, each for an element or for all of an index of the first axis."""
    (condition, truth), (shape, dtype) = job.inputs[0], job.outputs[0]
    count, total = prod(condition), prod(shape)
    inner = 1 if condition == shape else prod(shape[1:])
    given = input_at(0), workspace(), int64(count)
    find = job.spread("select", f"select_truth_{truth}", count, *given)
    numbers = int64(total), int64(inner), req(0)
    given = workspace(), input_at(1), input_at(2), output_at(0), *numbers
    launch = job.spread("select", f"select_where_{dtype}", total, *given)
    return Recipe((find, launch), temporary=count)
