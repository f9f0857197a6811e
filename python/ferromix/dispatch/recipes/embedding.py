"""Recipes of tables of vectors, looked up by number."""

from __future__ import annotations

from ..recipe import Job, Recipe, recipe
from ..recipe_indices import OUTSIDE
from .take import gathered, summed

__all__: list[str] = []


@recipe("Embedding")
def embedding(job: Job) -> Recipe | None:
    """Rows of the weight."""
    return gathered(job, 1, 0, 0, OUTSIDE["clip"])


@recipe("_backward_Embedding")
def backward(job: Job) -> Recipe | None:
    """Sums of gradients for each row."""
    return summed(job, 0, 1, 0, OUTSIDE["clip"])
