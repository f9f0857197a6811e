"""Recipes of discrete Fourier transforms."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ops.family import REALS
from ..recipe import Arg, Job, Launch, Recipe, input_at, int64, output_at, recipe, req, workspace
from ..recipe_folds import words

__all__: list[str] = []

ROOM = 16384
"""Bytes of a block's rows."""
MOST_PASSES = 20
"""Of lengths below the longest, by the least odd radix and a power of two."""
SHORT_RADIX, LONG_RADIX = 4, 8
"""Powers of two that a pass joins in shared memory, and where each is a launch."""
GREATEST = 128
"""Prime numbers of transforms that a pass joins."""
LONGEST = 2**29


@dataclass(frozen=True)
class Rows:
    """Rows of `n` pairs, and the radices of passes; on the way back or not."""

    job: Job
    number: int
    n: int
    passes: list[int]
    back: bool
    group: int = 1

    @property
    def plan(self) -> Arg:
        """An ``fm::Plan``."""
        filled = [*self.passes, *[0] * (MOST_PASSES - len(self.passes))]
        return words(self.number, self.n, self.group, self.back, len(self.passes), *filled)

    def launch(self, word: str, count: int, *given: Arg) -> Launch:
        """A thread for each of `count` things."""
        entry = f"spectral_{word}_{self.job.outputs[0][1]}"
        return self.job.spread("spectral", entry, count, *given)

    def transform(self, ends: tuple[Arg, Arg], turns: Arg) -> tuple[list[Launch], tuple[Arg, Arg]]:
        """A launch for each pass from the first of two ends; the result is at the first of those
        that come back."""
        launches, done = list[Launch](), 1
        for radix in self.passes:
            given = *ends, turns, self.plan, int64(done), int64(radix)
            launches.append(self.launch("pass", self.number * self.n, *given))
            done, ends = done * radix, (ends[1], ends[0])
        return launches, ends


@recipe("_contrib_fft", "_contrib_ifft")
def transform(job: Job) -> Recipe | None:
    """One launch for rows that shared memory holds, else one for each pass."""
    (shape, dtype), (out, to) = job.inputs[0], job.outputs[0]
    back, number = job.name == "_contrib_ifft", prod(out[:-1])
    n, size = min(shape[-1], out[-1]), 16 if dtype == "float64" else 8
    if dtype != to or dtype not in REALS or n >= LONGEST:
        return None
    if not n * number:
        return Recipe(())
    short = n * size <= ROOM
    passes = radices(n, SHORT_RADIX if short else LONG_RADIX)
    if passes is None:
        return by_chirp(Rows(job, number, n, [], back), size)
    group = max(1, min(ROOM // (n * size), job.limits.threads // n))
    rows = Rows(job, number, n, passes, back, group)
    turns, room, total = workspace(), n * size, number * n
    first = rows.launch("turns", n, turns, int64(n))
    if short:
        grid, block = (job.blocks(number, group), 1, 1), (job.limits.threads, 1, 1)
        given = input_at(0), output_at(0), turns, rows.plan, req(0)
        launch = Launch("spectral", f"spectral_short_{dtype}", grid, block, given)
        return Recipe((first, launch), temporary=room)
    ends = workspace(room), workspace(room + total * size)
    load = rows.launch("load", total, input_at(0), ends[0], rows.plan)
    launches, ends = rows.transform(ends, turns)
    last = rows.launch("store", total, ends[0], output_at(0), rows.plan, req(0))
    return Recipe((first, load, *launches, last), temporary=room + 2 * total * size)


def by_chirp(rows: Rows, size: int) -> Recipe:
    """Rows whose length has a large prime factor, by transforms of a power of two."""
    job, n, number = rows.job, rows.n, rows.number
    m = 1 << (2 * n - 2).bit_length()
    passes, total = radices(m, LONG_RADIX) or [], number * m
    ahead, back = (Rows(job, number, m, passes, way) for way in (False, True))
    places = [0, n, n + m, n + 2 * m, n + 3 * m, n + 3 * m + total]
    chirp, turns, own, other, *both = [workspace(place * size) for place in places]
    shape = chirp, rows.plan, int64(m)
    first = (
        rows.launch("turns", m, turns, int64(m)),
        rows.launch("chirp", m, chirp, own, int64(n), int64(m)),
        rows.launch("spread", total, input_at(0), both[0], *shape),
    )
    once, (filtering, _) = Rows(job, 1, m, passes, False).transform((own, other), turns)
    there, ends = ahead.transform((both[0], both[1]), turns)
    times = rows.launch("times", total, ends[0], filtering, int64(total), int64(m))
    again, ends = back.transform(ends, turns)
    last = rows.launch("gather", number * n, ends[0], output_at(0), *shape, req(0))
    room = (n + 3 * m + 2 * total) * size
    return Recipe((*first, *once, *there, times, *again, last), temporary=room)


def radices(n: int, power: int) -> list[int] | None:
    """What passes join, powers of two by `power` as long as that goes; None for large primes."""
    found, left = list[int](), n
    for radix in (power, 4, *range(2, GREATEST)):
        while left % radix == 0:
            found.append(radix)
            left //= radix
    return found if left == 1 else None
