"""Parts of recipes of whole numbers that stand for real ones of a range."""

from __future__ import annotations

from .recipe import Arg, Job, Launch, float32, input_at, nothing, output_at, req, struct
from .recipe_folds import MAX_RANK, words

__all__ = ["BYTES", "calibrated", "copied", "ends", "flat", "known", "moved", "shown"]

BYTES = ("int8", "uint8")


def ends(low: Arg, high: Arg) -> Arg:
    """A range in memory, as an ``fm::Ends``."""
    return struct(low, high, float32(0.0), float32(0.0))


def known(low: float, high: float) -> Arg:
    """A range that is known, as an ``fm::Ends``."""
    return struct(nothing(), nothing(), float32(low), float32(high))


def calibrated(job: Job) -> tuple[float, float] | None:
    """The range that attributes say, if both ends do."""
    low, high = job.attrs["min_calib_range"], job.attrs["max_calib_range"]
    return None if low is None or high is None else (float(low), float(high))


def shown(job: Job) -> Arg:
    """Where the outputs behind the first one are, as an ``fm::Shown``."""
    assert len(job.outputs) == 3, "numbers and both ends of their range"
    return struct(output_at(1), output_at(2), req(1), req(2))


def flat(count: int, operands: int = 2) -> Arg:
    """An ``fm::Walk`` over operands without gaps, all of the shape of the output."""
    return words(count, 0, (1 << operands) - 1, 0, *[0] * (MAX_RANK * (1 + operands)))


def copied(job: Job, count: int) -> Launch:
    """The first input as it is, or as bytes of the same bits, as the first output."""
    given = input_at(0), output_at(0), flat(count), req(0)
    return job.spread("elemwise", f"elemwise_copy_{job.outputs[0][1]}", count, *given)


def moved(job: Job, given: Arg) -> Launch:
    """A range as the outputs behind the first one."""
    return job.spread("quantize", "quantize_range_float32", 1, given, shown(job))
