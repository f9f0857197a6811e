"""What no call may exceed, whatever it is given: kinds of exceptions, time and memory."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ferromix as mx

SECONDS = 10.0
FACTOR = 4
SLACK = 64 << 20
ALLOWED = (mx.MXNetError, TypeError, ValueError, IndexError)


@dataclass
class Case:
    """One call.

    Parameters
    ----------
    run
        Does it, and returns its results.
    text
        Describes it.
    given
        Bytes that the call was given to read.
    """

    run: Callable[[], Any]
    text: Callable[[], str]
    given: int = 0


class Memory:
    """The resident memory of this process, in bytes. Keeps the system's files open."""

    def __init__(self) -> None:
        self.status = os.open("/proc/self/status", os.O_RDONLY)
        self.clear = os.open("/proc/self/clear_refs", os.O_WRONLY)
        self.peak = re.compile(rb"VmHWM:\s+(\d+) kB\nVmRSS:\s+(\d+) kB")

    def read(self) -> tuple[int, int]:
        """The highest since it was last forgotten, and what it is now."""
        found = self.peak.search(os.pread(self.status, 4096, 0))
        if found is None:
            raise RuntimeError("/proc/self/status lacks VmHWM or VmRSS")
        return int(found[1]) << 10, int(found[2]) << 10

    def forget_peak(self) -> int:
        """Begins to look for the highest anew; returns what it is now."""
        os.pwrite(self.clear, b"5", 0)
        return self.read()[1]


def size(found: Any, depth: int = 4) -> int:
    """The bytes of the arrays in a result, which may hold itself."""
    if isinstance(found, mx.nd.NDArray):
        return found.size * found.dtype().itemsize
    if isinstance(found, dict):
        found = list(found.values())
    if not isinstance(found, (list, tuple)) or depth == 0:
        return 0
    return sum(size(member, depth - 1) for member in found)


def check(case: Case, memory: Memory) -> str | None:
    """Does the call; says what was wrong, or nothing."""
    # Of the processor, as other work beside must not count; run.py sees what only waits.
    before, begin = memory.forget_peak(), time.process_time()
    results = 0
    wrong = None
    try:
        found = case.run()
        mx.nd.waitall()
        results = size(found)
    except mx.error.InternalError as error:
        wrong = f"InternalError: {str(error)[:200]}"
    except ALLOWED:
        pass
    except Exception as error:  # What is allowed was named above.
        wrong = f"{type(error).__name__}: {str(error)[:200]}"
    with contextlib.suppress(*ALLOWED):
        mx.nd.waitall()
    took, peak = time.process_time() - begin, memory.read()[0] - before
    if took > SECONDS:
        wrong = f"took {took:.1f} s"
    if peak > FACTOR * max(results, case.given) + SLACK:
        wrong = f"took {peak >> 20} MiB for {results} bytes of results"
    mx.autograd.set_recording(False)
    mx.autograd.set_training(False)
    return wrong
