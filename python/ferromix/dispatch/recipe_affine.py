"""Parts of recipes that move elements by a rule that is affine in their indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .recipe import Arg, Job, Launch, Recipe, input_at, int64, output_at, req
from .recipe_folds import MAX_RANK, filled, words

__all__ = ["SIZES", "Axis", "Move", "summed", "whole"]

SIDE = 32
"""Squares of so many elements go through shared memory."""
LEAST = 8
"""Sides of a square that is worth it."""
WIDE = 16
"""Bytes that are moved as one."""
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "float64": 8, "int64": 8}
"""Bytes of an element, where they are more than one."""
MOST_THREADS = 1024

Axis = tuple[int, int, int]
"""Extent, and elements from one to the next in the data and in the output."""


@dataclass(frozen=True)
class Move:
    """Elements that go from some places of the data to some of the output, each once."""

    axes: tuple[Axis, ...] = ()
    start: int = 0
    """The first element of the data, and of the output."""
    target: int = 0

    def back(self) -> Move:
        """The way back."""
        axes = tuple((n, to, from_) for n, from_, to in self.axes)
        return Move(axes, self.target, self.start)

    @property
    def total(self) -> int:
        """How many elements move."""
        return prod(n for n, _, _ in self.axes)

    def launch(self, job: Job, source: int = 0, target: int = 0) -> Launch | None:
        """Copies an input to an output, which may have further elements; None by too many axes."""
        axes, dtype = _merged(self.axes), job.outputs[target][1]
        if len(axes) > MAX_RANK:
            return None
        sides = (a for a, (n, step, _) in enumerate(axes[:-1]) if step == 1 and n >= LEAST)
        tall = next(sides, None)
        given = input_at(source), output_at(target)
        if tall is not None and axes[-1][0] >= LEAST and axes[-1][2] == 1:
            axes = (*axes[:tall], *axes[tall + 1 : -1], axes[tall], axes[-1])
            squares = prod(n for n, _, _ in axes[:-2]) * prod(
                -(-n // SIDE) for n, _, _ in axes[-2:]
            )
            grid, block = (job.blocks(squares, 1), 1, 1), (SIDE, job.limits.threads // SIDE, 1)
            args = *given, self._walk(axes, False), req(target)
            return Launch("affine", f"affine_tiles_{dtype}", grid, block, args)
        lanes = WIDE // SIZES.get(dtype, 1)
        packed = self._packs(axes, lanes)
        count = self.total // lanes if packed else self.total
        args = *given, self._walk(axes, packed), req(target)
        return job.spread("affine", f"affine_copy_{dtype}", count, *args)

    def _packs(self, axes: Sequence[Axis], lanes: int) -> bool:
        """Whether elements go side by side in whole packs."""
        if lanes == 1 or not axes or axes[-1][1:] != (1, 1):
            return False
        numbers = axes[-1][0], self.start, self.target, *(s for a in axes[:-1] for s in a[1:])
        return all(n % lanes == 0 for n in numbers)

    def _walk(self, axes: Sequence[Axis], packed: bool) -> Arg:
        columns = zip(*axes, strict=True) if axes else [(), (), ()]
        numbers = self.total, len(axes), self.start, self.target, packed
        return words(*numbers, *(n for column in columns for n in filled(column)))


def _merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same elements by as few axes as possible, those last that are closest in the output."""
    found: list[Axis] = []
    for n, from_, to in sorted((a for a in axes if a[0] != 1), key=lambda a: -abs(a[2])):
        if found and found[-1][1:] == (n * from_, n * to):
            found[-1] = found[-1][0] * n, from_, to
        else:
            found.append((n, from_, to))
    return tuple(found)


def whole(job: Job, move: Move | None) -> Recipe | None:
    """The recipe of a move from the first input to the output; what is not reached becomes zero."""
    shape, dtype = job.outputs[0]
    if move is None:
        return None
    count, launches = prod(shape), []
    if move.total != count:
        given = output_at(0), int64(count), req(0)
        launches.append(job.spread("affine", f"affine_clear_{dtype}", count, *given))
    if move.total:
        launch = move.launch(job)
        if launch is None:
            return None
        launches.append(launch)
    return Recipe(tuple(launches))


def summed(job: Job, move: Move) -> Recipe | None:
    """The way back of a move that repeats elements: sums of what came from each."""
    back = move.back()
    dtype = job.outputs[0][1]
    if not move.total:
        return whole(job, Move(((0, 1, 1),)))
    kept = _merged([a for a in back.axes if a[2]])
    gone = _merged([a for a in back.axes if not a[2]])
    if max(len(kept), len(gone)) > MAX_RANK:
        return None
    outputs, count = prod(a[0] for a in kept), prod(a[0] for a in gone)
    lists = [a[0] for a in kept], [a[0] for a in gone], [a[1] for a in kept]
    lists = *lists, [a[2] for a in kept], [a[1] for a in gone]
    numbers = [n for values in lists for n in filled(values)]
    layout = words(outputs, count, len(kept), len(gone), *numbers)
    # Threads share long sums of few elements.
    deep = 1 if count < SIDE or outputs > MOST_THREADS else min(SIDE, job.limits.threads)
    across = job.limits.threads // deep
    grid, block = (job.blocks(outputs, across), 1, 1), (across, deep, 1)
    args = input_at(0), output_at(0), int64(0), layout, req(0)
    return Recipe((Launch("reduce", f"reduce_sum_{dtype}", grid, block, args),))
