"""Recipes of BatchNorm and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ops.family import FLOATS, REALS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Limits,
    Recipe,
    field,
    input_at,
    int32,
    nothing,
    output_at,
    recipe,
    req,
    struct,
    workspace,
)
from ..recipe_folds import along, split

__all__ = ["Parts"]

MOST = 5
"""Outputs of the gradient, with the running statistics; the others have less."""
MOMENTS, SUMS = 24, 16
"""Bytes of what a block finds in a part of a channel."""
KINDS = {"_contrib_BatchNormWithReLU": 1, "_contrib_SyncBatchNorm": 2}
"""What is different about relatives, as the source numbers it."""
WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of an element."""
PART, LEAST = 1 << 16, 1 << 12
"""Bytes that a block reads at least, if there are so many: with less it mostly starts and ends; and
where there are few blocks."""
FULL = 4
"""Blocks for each processor that are not few."""
MOST_PARTS = 256
"""Parts of a channel; a warp adds up what was found in them."""
TURNS = 16
"""Elements that a thread takes at least, before blocks are made smaller."""
WAVES = 32
"""Blocks for each processor at most that have part of a channel."""


@dataclass(frozen=True)
class Parts:
    """Blocks at (channel, part), of so many threads.

    Parameters
    ----------
    along
        An ``fm::Along``.
    """

    along: Arg
    count: int
    parts: int
    threads: int

    @staticmethod
    def of(limits: Limits, outer: int, count: int, inner: int, dtype: str) -> Parts | None:
        """Those of an array of (outer, count, inner); None without elements, or with too many."""
        each = outer * inner
        if not 0 < each * count < 1 << 31:
            return None
        size, full = each * WIDTHS[dtype], FULL * limits.processors
        wanted = min(-(-size // PART), WAVES * limits.processors // count)
        parts = max(1, min(max(wanted, min(-(-full // count), size // LEAST)), MOST_PARTS))
        threads = limits.threads
        while threads > 32 and threads * TURNS > -(-each // parts):
            threads //= 2
        return Parts(along(outer, count, inner), count, parts, -(-threads // 32) * 32)

    def launch(self, stem: str, entry: str, *args: Arg) -> Launch:
        """A launch of these blocks."""
        return Launch(stem, entry, (self.count, self.parts, 1), (self.threads, 1, 1), args)


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
    parts = Parts.of(job.limits, outer, count, inner, dtype)
    if parts is not None and inner > 1:
        return parted(job, word, parts, bool(batch), struct(*channels), data, norm, reqs)
    how = split(job.limits, count, outer * inner, count if inner == 1 else 1)
    given = struct(*channels), *data, output_at(0), norm, reqs
    entry = f"batch_norm_{word}_{dtype}"
    return Recipe((Launch("batch_norm", entry, how.grid, how.block, given),))


def parted(
    job: Job,
    word: str,
    parts: Parts,
    batch: bool,
    channels: Arg,
    data: list[Arg],
    norm: Arg,
    reqs: Arg,
) -> Recipe:
    """What blocks find in parts of channels, then what all do with it."""
    dtype = job.outputs[0][1]
    if word == "forward":
        before, then, size = "moments", "apply", MOMENTS if batch else 0
        given: tuple[Arg, ...] = *data, workspace(), parts.along
    else:
        before, then, size = "sums", "back", SUMS
        given = *data, input_at(3), workspace(), parts.along
    partial = workspace() if size else nothing()
    rest = channels, *data, output_at(0), partial, int32(parts.parts), norm, reqs
    first = parts.launch("batch_norm", f"batch_norm_{before}_{dtype}", *given)
    last = parts.launch("batch_norm", f"batch_norm_{then}_{dtype}", *rest)
    temporary = size * parts.parts * parts.count
    return Recipe((first, last) if size else (last,), temporary)
