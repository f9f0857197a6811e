"""How the CUDA sources of optimizers take weights, states and rates: singly, or many in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ..recipe import Arg, Job, Launch, float64, input_at, int64, output_at, req, struct

__all__ = ["Table", "one", "rate", "rates", "tables"]

MOST_ITEMS, CHUNK, THREADS = 32, 1024, 256
"""Weights of a table and elements of a chunk, as kernels/include/table.cuh has them."""


def rate(job: Job, name: str) -> Arg:
    """A rate; a bound that is missing clips nothing."""
    missing = name.startswith("clip_") and job.attrs.get(name) is None
    return float64(-1.0) if missing else job.number(name)


def rates(job: Job, *names: str) -> Arg:
    """As an ``fm::Rates``."""
    return struct(*[rate(job, name) for name in names])


def number_of(value: Arg | float) -> Arg:
    """A rate that is known, or comes with each run."""
    return value if isinstance(value, tuple) else float64(value)


def parts(out: int, weight: int, grad: int, states: Sequence[int], count: int) -> list[Arg]:
    """The members of an ``fm::Step``, which has room for one state at least."""
    own = [input_at(i) for i in states] or [int64(0)]
    return [output_at(out), input_at(weight), input_at(grad), *own, int64(count)]


def one(job: Job, weight: int = 0, grad: int = 1, states: Sequence[int] = ()) -> Arg:
    """The step of an operator that makes one, as an ``fm::Step``; arguments are its inputs."""
    return struct(*parts(0, weight, grad, states, prod(job.inputs[weight][0])))


@dataclass(frozen=True)
class Table:
    """Weights that one launch takes.

    Parameters
    ----------
    arg
        The ``fm::Table``.
    count, elements, chunks
        How many there are of each.
    """

    arg: Arg
    count: int
    elements: int
    chunks: int

    def launch(self, job: Job, stem: str, step: str, *args: Arg, deep: bool = False) -> Launch:
        """A launch whose blocks take chunks in turn, with threads along y where ``deep``."""
        grid = job.blocks(self.chunks, 1), 1, 1
        block = (1, THREADS, 1) if deep else (THREADS, 1, 1)
        entry = f"{stem}_{step}_{job.inputs[0][1]}"
        return Launch(stem, entry, grid, block, (self.arg, *args))


def tables(
    job: Job, each: int, count: int, own: Callable[[int], list[Arg | float]]
) -> Iterator[Table]:
    """Tables of ``count`` weights with ``each`` inputs, from the weight to its last state.

    ``own`` gives the rates of a weight by its number.
    """
    for first in range(0, count, MOST_ITEMS):
        numbers = range(first, min(first + MOST_ITEMS, count))
        words: list[Arg] = []
        start = end = 0
        for number in numbers:
            place = number * each
            size = prod(job.inputs[place][0])
            end += -(-size // CHUNK)
            states = range(place + 2, place + each)
            words += parts(number, place, place + 1, states, size)
            words += [int64(end), int64(start), *map(number_of, own(number)), req(number)]
            start += size
        # What is left of the table, in words of eight bytes.
        width = 7 + max(each - 2, 1) + len(own(first))
        words += [int64(0)] * (width * (MOST_ITEMS - len(numbers)))
        words += [int64(len(numbers)), int64(first)]
        if end > 0:
            yield Table(struct(*words), len(numbers), start, end)
