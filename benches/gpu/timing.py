"""How calls on a GPU are timed: many enqueued, one wait, packages in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .packages import Package

Call = Callable[[], Any]


@dataclass
class Clock:
    """How long is measured, and what packages refused meanwhile.

    Parameters
    ----------
    seconds
        What a turn of one package takes at least; 0 for a single call.
    rounds
        Turns of each package, of which the median counts.
    """

    seconds: float
    rounds: int
    refused: dict[str, list[str]] = field(default_factory=dict)

    def attempt(self, what: str, package: str, make: Callable[[], Any]) -> Any:
        """What `make` gives; None, and a note, where the package refuses."""
        try:
            return make()
        except Exception as error:
            said = (str(error).splitlines() or [""])[0].split("; in node ")[0]
            text = f"{package}: {type(error).__name__}: {said}"
            self.refused.setdefault(text, []).append(what)
            return None

    def notes(self) -> list[str]:
        """What was refused, and for how many rows."""
        return [
            f"{text} ({places[0]}{f' and {len(places) - 1} more' * (len(places) > 1)})"
            for text, places in self.refused.items()
        ]

    def times(self, what: str, calls: dict[str, tuple[Package, Call]]) -> dict[str, float]:
        """Seconds of a call of each package, by the wall clock until the GPU is done."""
        counts: dict[str, int] = {}
        for name, (package, call) in calls.items():
            count = self.attempt(what, name, lambda c=call, p=package: self._enough(c, p))
            if count is not None:
                counts[name] = count
        seen: dict[str, list[float]] = {name: [] for name in counts}
        for _ in range(self.rounds):
            for name, count in counts.items():
                package, call = calls[name]
                seen[name].append(_seconds(call, package, count))
        return {name: statistics.median(seconds) for name, seconds in seen.items()}

    def _enough(self, call: Call, package: Package) -> int:
        """How many calls fill a turn, after some that compile, choose and capture."""
        for _ in range(3 if self.seconds else 1):
            call()
        package.wait()
        if not self.seconds:
            return 1
        count = 1
        while (took := _seconds(call, package, count) * count) < self.seconds / 2:
            count *= 2
        return max(1, round(count * self.seconds / took))


def _seconds(call: Call, package: Package, count: int) -> float:
    package.wait()
    start = time.perf_counter()
    for _ in range(count):
        call()
    package.wait()
    return (time.perf_counter() - start) / count


def enqueued(call: Call, package: Package, count: int, rounds: int) -> tuple[float, float]:
    """Seconds of a call until it returns, and until the GPU is done, of `count` in a row.

    The caller sees to it that so many can be enqueued without waiting for the GPU.
    """
    for _ in range(5):
        call()
    returned, done = [], []
    for _ in range(rounds):
        package.wait()
        start = time.perf_counter()
        for _ in range(count):
            call()
        returned.append((time.perf_counter() - start) / count)
        package.wait()
        done.append((time.perf_counter() - start) / count)
    return statistics.median(returned), statistics.median(done)
