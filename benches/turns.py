"""Packages in processes of their own that take short turns: other work meets all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

TURN = 0.03  # seconds of calls in a turn, as far as two calls do not take longer
ONE = {"OMP_NUM_THREADS": "1", "FERROMIX_NUM_THREADS": "1", "FERROMIX_CPU_WORKER_NTHREADS": "1"}
Call = Callable[[], Any]


def turn(call: Call, clock: Callable[[], float]) -> float:
    """Milliseconds of the quickest of some calls."""
    call()
    found, start = [], clock()
    while len(found) < 2 or clock() - start < TURN:
        begin = clock()
        call()
        found.append(clock() - begin)
    return 1e3 * min(found)


def serve(find: Callable[[Any], Call], one_thread: bool, hello: Any = None) -> None:
    """Does a turn with the call that `find` makes of each line of JSON that comes in.

    Answers with its time, or with what was raised.
    """
    clock = time.process_time if one_thread else time.perf_counter
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(turn(find(json.loads(line)), clock)), flush=True)
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
            env={**os.environ, **(ONE if self.one_thread else {})},
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
        print(json.dumps(row), file=self.process.stdin, flush=True)
        found = self.answer()
        if found is None:
            self.process.wait()
            self.start()
            return "the process ended"
        return found
