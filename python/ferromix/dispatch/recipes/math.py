"""Recipes of functions of real numbers, element by element."""

from __future__ import annotations

from ...ops.family import FLOATS
from ..recipe import Job, Recipe, recipe
from .elemwise import elementwise

__all__: list[str] = []

PLAIN = [
    *["exp", "log", "log1p", "expm1", "log2", "log10"],
    *["sqrt", "rsqrt", "cbrt", "rcbrt", "reciprocal"],
    *["sigmoid", "log_sigmoid", "mish", "softsign"],
    *["sin", "cos", "tan", "arcsin", "arccos", "arctan", "degrees", "radians"],
    *["sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"],
    *["erf", "erfinv", "gamma", "gammaln", "digamma", "_trigamma"],
]
NUMBERS_OF = {
    "hard_sigmoid": ["alpha", "beta"],
    "smooth_l1": ["scalar"],
    "_contrib_quadratic": ["a", "b", "c"],
}
"""The attributes that a kernel takes, in its order."""


@recipe(*PLAIN)
def plain(job: Job) -> Recipe | None:
    """A function without attributes."""
    return elementwise(job, "math", job.name.lstrip("_"))


@recipe("smooth_l1", "_contrib_quadratic")
def with_numbers(job: Job) -> Recipe | None:
    """A function with numbers for attributes."""
    numbers = map(job.number, NUMBERS_OF[job.name])
    return elementwise(job, "math", job.name.lstrip("_"), *numbers)


@recipe("hard_sigmoid")
def hard_sigmoid(job: Job) -> Recipe | None:
    """A line between two bounds."""
    numbers = map(job.number, NUMBERS_OF[job.name])
    return elementwise(job, "math", job.name, *numbers, types=FLOATS)
