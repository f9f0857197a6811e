"""Recipes of discrete Fourier transforms."""

from __future__ import annotations

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
LONGEST = 2**31


@recipe("_contrib_fft", "_contrib_ifft")
def transform(job: Job) -> Recipe | None:
    """One launch for rows that shared memory holds, else one for each pass."""
    (shape, dtype), (out, to) = job.inputs[0], job.outputs[0]
    back = job.name == "_contrib_ifft"
    n, size = min(shape[-1], out[-1]), 16 if dtype == "float64" else 8
    if not n or not prod(shape):
        return Recipe(())
    short = n * size <= ROOM
    passes = radices(n, SHORT_RADIX if short else LONG_RADIX)
    if dtype != to or dtype not in REALS or passes is None or n >= LONGEST:
        return None
    rows, threads = prod(out[:-1]), job.limits.threads
    group = max(1, min(ROOM // (n * size), threads // n))
    filled = [*passes, *[0] * (MOST_PASSES - len(passes))]
    plan = words(rows, n, group, back, len(passes), *filled)
    turns, room = workspace(), n * size
    launches = [job.spread("spectral", f"spectral_turns_{dtype}", n, turns, int64(n))]
    if short:
        grid, block = (job.blocks(rows, group), 1, 1), (threads, 1, 1)
        given = input_at(0), output_at(0), turns, plan, req(0)
        launches.append(Launch("spectral", f"spectral_short_{dtype}", grid, block, given))
        return Recipe(tuple(launches), temporary=room)
    total = rows * n
    ends = workspace(room), workspace(room + total * size)

    def launch(word: str, *given: Arg) -> None:
        launches.append(job.spread("spectral", f"spectral_{word}_{dtype}", total, *given))

    launch("load", input_at(0), ends[0], plan)
    done = 1
    for radix in passes:
        launch("pass", *ends, turns, plan, int64(done), int64(radix))
        done, ends = done * radix, ends[::-1]
    launch("store", ends[0], output_at(0), plan, req(0))
    return Recipe(tuple(launches), temporary=room + 2 * total * size)


def radices(n: int, power: int) -> list[int] | None:
    """What passes join, powers of two by `power` as long as that goes; None for large primes."""
    found, left = list[int](), n
    for radix in (power, 4, *range(2, GREATEST)):
        while left % radix == 0:
            found.append(radix)
            left //= radix
    return found if left == 1 else None
