"""What no call may exceed, whatever it is given: kinds of exceptions, time and memory."""

from __future__ import annotations

import contextlib
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


def _status(name: str) -> int:
    """A size of this process, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) << 10
    raise RuntimeError(f"/proc/self/status lacks {name}")


def _forget_peak() -> int:
    """Begins to measure the peak anew; returns the size now."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return _status("VmRSS:")


def size(found: Any) -> int:
    """The bytes of the arrays in a result."""
    if isinstance(found, mx.nd.NDArray):
        return found.size * found.dtype().itemsize
    if isinstance(found, dict):
        found = list(found.values())
    return sum(map(size, found)) if isinstance(found, (list, tuple)) else 0


def check(case: Case) -> str | None:
    """Does the call; says what was wrong, or nothing."""
    before, begin = _forget_peak(), time.perf_counter()
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
    took, peak = time.perf_counter() - begin, _status("VmHWM:") - before
    if took > SECONDS:
        wrong = f"took {took:.1f} s"
    if peak > FACTOR * max(results, case.given) + SLACK:
        wrong = f"took {peak >> 20} MiB for {results} bytes of results"
    mx.autograd.set_recording(False)
    mx.autograd.set_training(False)
    return wrong
