"""What a kernel is measured on: the arrays, the work, and the call of each package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .packages import Package
from .table import Line
from .timing import Call, Clock

Make = Callable[..., Call]
"""From a package's module and its arrays, a call that leaves its result in memory that exists."""


@dataclass(frozen=True)
class Row:
    """One operation.

    Parameters
    ----------
    name
        As in the table.
    shapes
        Of the arrays, which hold numbers from 0.1 to 1.
    work
        Elements moved to and from memory at least, or floating-point operations of a call.
    ferromix, torch, cupy
        What makes the call; None where a package has no such function.
    indices
        Arrays, by their number, that hold integers below the one given, not numbers.
    """

    name: str
    shapes: Sequence[tuple[int, ...]]
    work: float
    ferromix: Make
    torch: Make | None = None
    cupy: Make | None = None
    indices: dict[int, int] | None = None

    def inputs(self, dtype: str) -> list[np.ndarray]:
        """The arrays, the same for every package."""
        rng, below = np.random.default_rng(0), self.indices or {}
        return [
            rng.integers(0, below[i], shape, np.int32)
            if i in below
            else (rng.random(shape, np.float32) * 0.9 + 0.1).astype(dtype)
            for i, shape in enumerate(self.shapes)
        ]

    def seconds(self, dtype: str, found: dict[str, Package], clock: Clock) -> dict[str, float]:
        """Seconds of a call of each package that has it."""
        inputs, what = self.inputs(dtype), f"{self.name}, {dtype}"
        calls = {}
        for name, package in found.items():
            make: Make | None = getattr(self, name)
            if make is None:
                continue
            call = clock.attempt(
                what,
                name,
                lambda m=make, p=package: m(p.module, *[p.array(x) for x in inputs]),
            )
            if call is not None:
                calls[name] = package, call
        return clock.times(what, calls)


def bandwidth(
    row: Row, dtype: str, found: dict[str, Package], clock: Clock, ceiling: float | None = None
) -> Line:
    """GB/s of a row whose work is in elements."""
    moved = row.work * np.dtype(dtype).itemsize / 1e9
    rates = {name: moved / s for name, s in row.seconds(dtype, found, clock).items()}
    return Line(row.name, dtype, "GB/s", rates, ceiling=ceiling)


def arithmetic(
    row: Row, dtype: str, found: dict[str, Package], clock: Clock, ceiling: float | None = None
) -> Line:
    """TFLOP/s of a row whose work is in operations."""
    seconds = row.seconds(dtype, found, clock)
    rates = {name: row.work / 1e12 / s for name, s in seconds.items()}
    return Line(row.name, dtype, "TFLOP/s", rates, ceiling=ceiling)


def operator(name: str, **attributes: Any) -> Make:
    """An operator of Ferromix on all arrays, into one that exists."""

    def make(mx: Any, *arrays: Any) -> Call:
        function = getattr(mx.nd, name)
        out = function(*arrays, **attributes)
        return lambda: function(*arrays, out=out, **attributes)

    return make


def function(name: str, **options: Any) -> Make:
    """A function of torch or CuPy that takes ``out``, on all arrays."""

    def make(module: Any, *arrays: Any) -> Call:
        work = getattr(module, name)
        out = work(*arrays, **options)
        return lambda: work(*arrays, out=out, **options)

    return make


def step(name: str, **attributes: Any) -> Make:
    """A step of an optimizer of Ferromix, which changes the first array."""

    def make(mx: Any, weight: Any, *arrays: Any) -> Call:
        work = getattr(mx.nd, name)
        return lambda: work(weight, *arrays, out=weight, **attributes)

    return make
