"""Recipes of row_sparse arrays: where rows are, then rows by their places."""

from __future__ import annotations

from math import prod

from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    input_at,
    int64,
    output_at,
    recipe,
    refusal,
    req,
    workspace,
)
from ..recipe_indices import OUTSIDE, Rows, places
from ..recipe_rows import ANY, listed, wrong_rows

__all__: list[str] = []

Sentences = tuple[tuple[str, str], ...]
NO_ROW = (
    "Embedding: number {{}} is not that of a row; there are {} rows, counted from 0, and a "
    "row_sparse weight or gradient takes no nearest one"
)


def own(job: Job, name: str, count: int, *args: Arg) -> Launch:
    """A launch of one of the kernels of places."""
    return job.spread("row_sparse", f"row_sparse_{name}_int64", count, *args)


def marked(job: Job, first: int, height: int) -> list[Launch]:
    """For each of a table's rows, which of the rows in use it is, in the temporary memory."""
    rows = listed(job, first, height)
    return [
        own(job, "clear", height, workspace(), int64(height)),
        own(job, "mark", job.inputs[first][0][0], rows, workspace(), refusal()),
    ]


def gathered(
    job: Job, find: list[Launch], count: int, refused: Sentences = (), at: int = 0
) -> Recipe:
    """Rows of the first input by `count` places in the temporary memory, behind `at` bytes."""
    (height, *rest), dtype = job.inputs[0]
    width = prod(rest)
    rows = Rows(1, height, width, count)
    given = input_at(0), workspace(at), output_at(0), rows.arg(), req(0)
    launch = job.spread("rows", f"rows_gather_{dtype}", rows.picked, *given)
    return Recipe((*find, launch), temporary=at + 8 * count, refusals=refused)


@recipe("_rows_to_dense")
def to_dense(job: Job) -> Recipe:
    """All rows of the table, each from where it is stored."""
    height = job.outputs[0][0][0]
    return gathered(job, marked(job, 1, height), height, wrong_rows(job, 1, height))


@recipe("_rows_gather")
def gather(job: Job) -> Recipe:
    """The rows that are numbered."""
    height, room = job.inputs[0][0][0], job.inputs[1][0][0]
    find = own(job, "places", room, listed(job, 1, height), workspace(), refusal())
    return gathered(job, [find], room, wrong_rows(job, 1, height))


@recipe("_rows_take")
def take(job: Job) -> Recipe:
    """Rows that are looked for among those in use."""
    count = prod(job.inputs[3][0])
    given = listed(job, 1, ANY), input_at(3), workspace(), int64(count), refusal()
    return gathered(job, [own(job, "find", count, *given)], count, wrong_rows(job, 1, ANY))


@recipe("_rows_write")
def write(job: Job) -> Recipe:
    """A launch over the table, or where that is the output, over the rows in use."""
    shape, dtype = job.inputs[0]
    rows, width = listed(job, 2, shape[0]), int64(prod(shape[1:]))
    given = input_at(0), input_at(1), workspace(), rows, output_at(0), width, req(0)
    last = job.spread("row_sparse", f"row_sparse_write_{dtype}", prod(shape), *given)
    refused = wrong_rows(job, 2, shape[0])
    return Recipe((*marked(job, 2, shape[0]), last), temporary=8 * shape[0], refusals=refused)


@recipe("_sparse_retain")
def retain(job: Job) -> Recipe:
    """The rows that are given by numbers of any type."""
    height, count = job.inputs[0][0][0], prod(job.inputs[1][0])
    find = places(job, 1, [height], OUTSIDE["raise"])
    slots = workspace(8 * count)
    clear = own(job, "clear", height, slots, int64(height))
    keep = own(job, "keep", count, workspace(), slots, int64(count))
    return gathered(job, [find, clear, keep], height, at=8 * count)


@recipe("_row_numbers")
def numbers(job: Job) -> Recipe:
    """Indices of any type as numbers of rows that there are."""
    (shape, dtype), height = job.inputs[0], job.attrs["height"]
    given = input_at(0), output_at(0), int64(prod(shape)), int64(height), refusal(), req(0)
    launch = job.spread("row_sparse", f"row_sparse_numbers_{dtype}", prod(shape), *given)
    return Recipe((launch,), refusals=(("index", NO_ROW.format(height)),))
