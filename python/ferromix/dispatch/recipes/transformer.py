"""Recipes of parts of attention."""

from __future__ import annotations

from math import floor, prod, sqrt

from ..recipe import Job, Recipe, float64, input_at, int64, output_at, recipe, req

__all__: list[str] = []

FLOATS = ("float32", "float64", "float16", "bfloat16")


@recipe("_contrib_div_sqrt_dim")
def div_sqrt_dim(job: Job) -> Recipe | None:
    """Elements divided by the root of the last extent, of integers by its whole part."""
    shape, dtype = job.inputs[0]
    root = sqrt(shape[-1] if shape else 1)
    divisor = float64(root if dtype in FLOATS else float(floor(root)))
    given = input_at(0), output_at(0), int64(prod(shape)), divisor, req(0)
    entry = f"transformer_div_sqrt_dim_{dtype}"
    return Recipe((job.spread("transformer", entry, prod(shape), *given),))
