"""Rows of a table of kernels beside NumPy and torch: what they are and how they are timed.

Ferromix and NumPy share a process, torch has one of its own (another interpreter may be the one
that has it); they take turns, one row and size at a time. All write into arrays that exist already;
a call of Ferromix ends when its result can be read.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 0.008
# Up to so many elements are measured with so many sets of arrays.
SMALL = 256
PLACES = 3
# A processor that was idle takes some milliseconds to come up to speed, whoever wants it.
WARM = 0.006
PAUSE = 0.02
Shapes = Callable[[int], list[tuple[int, ...]]]


def flat(count: int) -> tuple[int, ...]:
    return (count,)


def square(count: int) -> tuple[int, ...]:
    """A matrix of `count` elements, as square as powers of two allow."""
    rows = 1 << (count.bit_length() // 2)
    return (rows, count // rows) if count > 1 else (1, 1)


def cube(count: int) -> tuple[int, ...]:
    """The rows of such a matrix in four parts."""
    rows, columns = square(count)
    return (4, rows // 4, columns) if rows >= 4 else (1, rows, columns)


@dataclass(frozen=True)
class Row:
    """One operator on `float32`.

    `numpy` and `torch` take the inputs and the output, torch's after the module; `None` where the
    package has no such function. `target` is how many times NumPy's speed is asked for.
    """

    name: str
    operator: str
    shapes: Shapes
    numpy: Callable[..., Any] | None
    torch: Callable[..., Any] | None
    attributes: dict[str, Any] = field(default_factory=dict)
    target: float = 1.0

    def inputs(self, count: int) -> list[np.ndarray]:
        """Arrays of numbers that every function takes."""
        rng = np.random.default_rng(0)
        return [rng.random(s, np.float32) * 2.9 + 0.1 for s in self.shapes(count)]

    def ferromix(self, inputs: list[np.ndarray]) -> tuple[Callable[[], None], Any]:
        """A call, and the array that has its result."""
        import ferromix as mx

        operator, attributes = getattr(mx.nd, self.operator), self.attributes
        arrays = [mx.nd.array(x) for x in inputs]
        result = operator(*arrays, **attributes)
        ready = result.wait_to_read

        def call() -> None:
            operator(*arrays, out=result, **attributes)
            ready()

        return call, result

    def peer(self, name: str, inputs: list[np.ndarray], like: tuple[Any, ...]) -> Callable[[], Any]:
        """A call of NumPy or torch that writes a result of shape and type `like`."""
        out = np.zeros(*like)
        if name == "numpy" and self.numpy is not None:
            function = self.numpy
            return lambda: function(*inputs, out)
        if self.torch is None:
            raise SystemExit(f"{self.name}: {name} has no such function")
        import torch

        work, tensors, target = (
            self.torch,
            [torch.from_numpy(x) for x in inputs],
            torch.from_numpy(out),
        )
        return lambda: work(torch, *tensors, target)


def time_of(call: Callable[[], Any], calls: int) -> float:
    """Seconds of one call of so many, after some that warm up."""
    warm = time.perf_counter() + WARM
    while time.perf_counter() < warm:
        call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def enough(call: Callable[[], Any]) -> int:
    """How many calls fill a round, at least a few."""
    return max(6, int(SECONDS / max(time_of(call, 3), 1e-7)))


class Peer:
    """A process that has torch."""

    def __init__(self, interpreter: str, threads: int) -> None:
        command = [interpreter, str(Path(__file__).with_name("kernels.py")), "--serve"]
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *what: Any) -> float:
        """Send a request; its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))


def serve(rows: dict[str, Row]) -> None:
    """Answers the requests of a [`Peer`]: forget all, prepare a row of a size, time a round."""
    calls: list[Any] = []
    for line in sys.stdin:
        match json.loads(line):
            case [name, count, shape, dtype]:
                row = rows[name]
                call = row.peer("torch", row.inputs(count), (shape, dtype))
                calls.append((call, enough(call)))
                answer = len(calls) - 1
            case []:
                calls.clear()
                answer = 0
            case [place]:
                answer = time_of(*calls[place])
            case other:
                raise ValueError(f"no such request: {other}")
        print(json.dumps(answer), flush=True)


def prepared(row: Row, count: int, torch: Peer | None) -> Iterator[tuple[str, Callable[[], float]]]:
    """What measures a round of each package."""
    inputs = row.inputs(count)
    ours, result = row.ferromix(inputs)
    like = (result.shape, np.dtype(result.dtype).name)

    def timed(call: Callable[[], Any]) -> Callable[[], float]:
        calls = enough(call)
        return lambda: time_of(call, calls)

    yield "ferromix", timed(ours)
    if row.numpy is not None:
        yield "numpy", timed(row.peer("numpy", inputs, like))
    if row.torch is not None and torch is not None:
        place = int(torch.ask(row.name, count, *like))
        yield "torch", lambda: torch.ask(place)


def measure(
    row: Row, counts: list[int], rounds: int, torch: Peer | None
) -> dict[int, dict[str, list[float]]]:
    """Seconds of each package for each number of elements, turn by turn.

    A package measures all sizes in its turn, so that what is slower for a while is so for all. One
    element, the price of a call, and other small sizes are measured with several arrays, of which
    the median counts: where they lie may decide how long a call takes.
    """
    if torch is not None:
        torch.ask()
    runs: dict[str, dict[int, list[Callable[[], float]]]] = {}
    for count in counts:
        for _ in range(PLACES if count <= SMALL else 1):
            for name, run in prepared(row, count, torch):
                runs.setdefault(name, {}).setdefault(count, []).append(run)
    found: dict[int, dict[str, list[float]]] = {count: {n: [] for n in runs} for count in counts}
    for _ in range(rounds):
        for name, sizes in runs.items():
            for count, all_places in sizes.items():
                found[count][name].append(statistics.median(run() for run in all_places))
            # Its threads may go on looking for work, where the next one's should run.
            time.sleep(PAUSE)
    return found


def lines(
    rows: dict[str, Row], sizes: list[int], rounds: int, torch: Peer | None
) -> Iterator[list[Any]]:
    """Name, bytes and seconds of each cell by turn; one element first, the price of a call."""
    for name, row in rows.items():
        times = measure(row, [1, *(size // 4 for size in sizes)], rounds, torch)
        for count, seconds in times.items():
            yield [name, 4 * count, seconds]
