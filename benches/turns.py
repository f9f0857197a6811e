"""Packages in processes of their own that take short turns: other work meets all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

# Seconds of calls in a turn, as far as two calls do not take longer; of the processor.
TURN, LONG_TURN = 0.03, 0.15
# Seconds before a turn, in which threads of the package before, which look for work, go to sleep.
PAUSE = 0.3
ONE = {"OMP_NUM_THREADS": "1", "FERROMIX_NUM_THREADS": "1", "FERROMIX_CPU_WORKER_NTHREADS": "1"}
# MXNet takes half of the processors otherwise.
ALL = {"OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}
Call = Callable[[], Any]


def turn(call: Call) -> float:
    """Milliseconds of the quickest of some calls."""
    call()
    found, start = [], time.perf_counter()
    while len(found) < 2 or time.perf_counter() - start < TURN:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return 1e3 * min(found)


def turn_of_processor(call: Call) -> float:
    """Milliseconds of the processor that a call takes, all threads together.

    The mean of many calls: what other threads took is known only once a tick.
    """
    call()
    count, start = 0, time.process_time()
    while count < 2 or time.process_time() - start < LONG_TURN:
        call()
        count += 1
    return 1e3 * (time.process_time() - start) / count


def serve(find: Callable[[Any], Call], one_thread: bool, hello: Any = None) -> None:
    """Does a turn with the call that `find` makes of each line of JSON that comes in.

    Answers with its time, or with what was raised.
    """
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        try:
            call = find(json.loads(line))
            spent = turn_of_processor(call) if one_thread else turn(call)
            print(json.dumps(spent), flush=True)
        except Exception as error:
            print(json.dumps(str(error)[:200]), flush=True)


class Package:
    """A process that serves turns, made by `command`."""

    def __init__(self, command: list[str], one_thread: bool) -> None:
        self.command, self.one_thread = command, one_thread
        self.start()

    def start(self) -> None:
        """Begins, and hears what the process says first."""
        self.process = subprocess.Popen(
            [*self.command, *["--one-thread"] * self.one_thread],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(ONE if self.one_thread else ALL)},
        )
        self.hello = self.answer()

    def answer(self) -> Any:
        """The next line that it prints; None where it ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def turn(self, row: Any) -> float | str:
        """The time of a call in milliseconds, or why there is none."""
        assert self.process.stdin is not None
        if not self.one_thread:
            time.sleep(PAUSE)
        print(json.dumps(row), file=self.process.stdin, flush=True)
        found = self.answer()
        if found is None:
            self.process.wait()
            self.start()
            return "the process ended"
        return found
