"""Recipes of steps of gradient descent for several weights at once."""

from __future__ import annotations

from ..recipe import Arg, Job, Recipe, input_at, nothing, recipe
from .steps import rates, tables

__all__: list[str] = []

STEPS = {"sgd_update": 2, "sgd_mom_update": 3, "mp_sgd_update": 3, "mp_sgd_mom_update": 4}
"""How many inputs a weight has."""
ROWS = [f"{prefix}multi_{step}" for prefix in ("", "preloaded_") for step in STEPS]


@recipe(*ROWS)
def steps(job: Job) -> Recipe | None:
    """A launch for each table of weights."""
    loaded, _, step = job.name.rpartition("multi_")
    each, count = STEPS[step], job.attrs["num_weights"]
    last = each * count
    memory = (input_at(last), input_at(last + 1)) if loaded else (nothing(), nothing())

    def own(number: int) -> list[Arg | float]:
        return [0.0, 0.0] if loaded else [job.attrs[name][number] for name in ("lrs", "wds")]

    momentum = ["momentum"] if "mom" in step else []
    common = rates(job, "rescale_grad", "clip_gradient", *momentum)
    made = [
        table.launch(job, "multi_sgd", step, common, *memory)
        for table in tables(job, each, count, own)
    ]
    return Recipe(tuple(made))
