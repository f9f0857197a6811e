"""Recipe of LeakyReLU with random slopes."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS
from ..recipe import Job, Recipe, draws, field, input_at, int64, output_at, recipe, req, struct

__all__: list[str] = []


@recipe("_leaky_random")
def leaky(job: Job) -> Recipe | None:
    """A thread for each block of random words; outside of training, there are none."""
    shape, dtype = job.inputs[0]
    if dtype not in FLOATS or any(desc != (shape, dtype) for desc in job.outputs):
        return None
    low, high = float(job.attrs["lower_bound"]), float(job.attrs["upper_bound"])
    drawn = bool(job.attrs["__is_train__"])
    interval = struct(field(low), field(high - low), field(int(drawn)))
    stream = draws() if drawn else struct(field(0), field(0))
    count = prod(shape)
    given = input_at(0), output_at(0), req(0), output_at(1), req(1), int64(count), interval, stream
    blocks = -(-count // (2 if dtype == "float64" else 4))
    return Recipe((job.spread("leaky", f"leaky_{dtype}", blocks, *given),))
