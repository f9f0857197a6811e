"""Recipes of BatchNorm and its gradient."""

from __future__ import annotations

from math import prod

from ...ops.family import FLOATS, REALS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    field,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_folds import along, split

__all__: list[str] = []

MOST = 5
"""Outputs of the gradient, with the running statistics; the others have less."""
KINDS = {"_contrib_BatchNormWithReLU": 1, "_contrib_SyncBatchNorm": 2}
"""What is different about relatives, as the source numbers it."""


@recipe("BatchNorm", *KINDS)
def forward(job: Job) -> Recipe | None:
    """Threads along y share a channel."""
    channels = [input_at(i) for i in range(1, 5)] + [output_at(1), output_at(2)]
    return normed(job, "forward", channels, [input_at(0)], 3)


@recipe("_backward_BatchNorm", "_batch_norm_gradient")
def backward(job: Job) -> Recipe | None:
    """The same, for the gradients of data, gamma and beta."""
    channels = [input_at(i) for i in (2, 3, 4)] + [output_at(1), output_at(2)]
    if len(job.outputs) == MOST:
        channels += [input_at(5), input_at(6), output_at(3), output_at(4)]
    else:
        channels += [nothing()] * 4
    return normed(job, "backward", channels, [input_at(0), input_at(1)], len(job.outputs))


@recipe("_batch_norm_again")
def again(job: Job) -> Recipe | None:
    """The output once more, with a thread for each element."""
    shape, dtype = job.outputs[0]
    own = dtype if dtype in REALS else "float32"
    if [t for _, t in job.inputs] != [dtype, *[own] * 4] or dtype not in FLOATS:
        return None
    axis = job.attrs["axis"] % len(shape)
    layout = along(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
    statistics = struct(*map(input_at, range(1, 5)))
    flag = int32(int(job.attrs["fix_gamma"]))
    given = statistics, input_at(0), output_at(0), layout, flag, req(0)
    entry = f"batch_norm_again_{dtype}"
    return Recipe((job.spread("batch_norm", entry, prod(shape), *given),))


def normed(
    job: Job, word: str, channels: list[Arg], data: list[Arg], outputs: int
) -> Recipe | None:
    """One launch; what there is one of for each channel is float32 where the data are halves."""
    shape, dtype = job.outputs[0]
    own = dtype if dtype in REALS else "float32"
    places = [arg[1] for arg in data if arg[0] == "input"]
    types = [dtype if i in places else own for i in range(len(job.inputs))]
    types += [own if k else dtype for k in range(len(job.outputs))]
    if [t for _, t in (*job.inputs, *job.outputs)] != types or dtype not in FLOATS:
        return None
    axis = job.attrs["axis"] % len(shape)
    outer, count, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    batch = job.attrs["__is_train__"] and not job.attrs["use_global_stats"]
    flags = int(batch), int(job.attrs["fix_gamma"]), KINDS.get(job.name, 0)
    numbers = job.number("eps"), job.number("momentum")
    norm = struct(*map(field, (outer, count, inner, *flags)), *numbers)
    # Requests are int64 there: an int and zeros.
    wanted = [part for k in range(outputs) for part in (req(k), int32(0))]
    reqs = struct(*wanted, *[field(0)] * (MOST - outputs))
    how = split(job.limits, count, outer * inner, count if inner == 1 else 1)
    given = struct(*channels), *data, output_at(0), norm, reqs
    entry = f"batch_norm_{word}_{dtype}"
    return Recipe((Launch("batch_norm", entry, how.grid, how.block, given),))
