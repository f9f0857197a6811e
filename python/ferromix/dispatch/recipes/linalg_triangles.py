"""Recipes of diagonals and triangles of square matrices."""

from __future__ import annotations

from math import prod

from ..recipe import Arg, Job, Recipe, field, input_at, output_at, recipe, req, struct
from ..recipe_folds import words

__all__ = ["real"]


def real(job: Job) -> str | None:
    """The type of all arguments, if it is one of those that matrices have."""
    found = {dtype for _, dtype in (*job.inputs, *job.outputs)}
    return found.pop() if len(found) == 1 and found <= {"float32", "float64"} else None


def launched(job: Job, word: str, arg: Arg) -> Recipe | None:
    """A thread for each element of the output."""
    dtype = real(job)
    if dtype is None:
        return None
    entry, count = f"linalg_triangles_{word}_{dtype}", prod(job.outputs[0][0])
    given = input_at(0), output_at(0), arg, req(0)
    return Recipe((job.spread("linalg_triangles", entry, count, *given),))


@recipe(*(f"_linalg_{what}" for what in ("extractdiag", "extracttrian", "makediag", "maketrian")))
def part(job: Job) -> Recipe | None:
    """A diagonal, or a triangle, out of matrices or into them."""
    makes, triangle = "_make" in job.name, job.name.endswith("trian")
    *lead, n, _ = (job.outputs if makes else job.inputs)[0][0]
    offset = job.attrs["offset"]
    below = offset < 0 or (offset == 0 and triangle and job.attrs["lower"])
    numbers = prod(lead), n, n - abs(offset), abs(offset), int(below), int(triangle)
    return launched(job, "make" if makes else "extract", words(*numbers))


@recipe("_linalg_triangles")
def weighed(job: Job) -> Recipe | None:
    """What is below a diagonal, on it and above it, each times a weight."""
    *lead, n, _ = job.inputs[0][0]
    weights = map(float, job.attrs["weights"])
    return launched(job, "weigh", struct(*map(field, (prod(lead), n, *weights))))
