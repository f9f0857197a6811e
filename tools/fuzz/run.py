"""Calls with all kinds of bad input, to see that nothing but an orderly error comes of them.

usage: python tools/fuzz/run.py [--kind KIND] [--calls N] [--seed N] [--first N] [--processes N]

A call must not end in an exception outside those of ferromix.error, TypeError, ValueError and
IndexError, nor take over 10 seconds of the processor or 60 in all, nor more memory than 4 times its
results and 64 MiB. Prints what did, once for each kind of fault, with the number of the call, which
`--first N --calls 1` with the same seed repeats. A process that dies is started anew behind the
call that killed it.
"""

from __future__ import annotations

import argparse
import mmap
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

PROGRESS, FOUND = "progress", "found"
KINDS = ("operators", "functions", "files")
# What stands for a call's number before the first call, and after the last.
NOT_BEGUN, DONE = -2, -1
# What lets a process be taken for stuck, in seconds, beside much other work, and its address space.
STUCK = 60.0
SPACE = 3 << 30


def case_of(options: argparse.Namespace, number: int) -> Any:
    """The call of a number."""
    import files
    import functions
    import operators
    from draw import Draw

    kinds: Any = {"operators": operators, "functions": functions, "files": files}
    kind = options.kind or KINDS[number % len(KINDS)]
    return kinds[kind].case(Draw(options.seed, number))


def work(options: argparse.Namespace) -> None:
    """Does the calls of one process; its progress and its findings go to files."""
    import limits

    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    warnings.simplefilter("ignore")
    folder, memory = Path(options.folder), limits.Memory()
    devnull = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(devnull, stream)
    with (
        open(folder / PROGRESS, "r+b") as file,
        mmap.mmap(file.fileno(), 8) as progress,
        open(folder / FOUND, "a", encoding="utf-8") as found,
    ):
        for number in range(options.first, options.first + options.calls, options.step):
            progress[:8] = struct.pack("<q", number)
            case = case_of(options, number)
            wrong = limits.check(case, memory)
            if wrong is not None:
                print(f"{number}\t{wrong!r}\t{case.text()!r}", file=found, flush=True)
        progress[:8] = struct.pack("<q", DONE)


class Worker:
    """A process that does every so many-th of the calls, started anew where it dies."""

    def __init__(self, options: argparse.Namespace, index: int, folder: str) -> None:
        self.options, self.end = options, options.first + options.calls
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        (self.folder / FOUND).touch()
        self.start(options.first + index)

    def start(self, first: int) -> None:
        """Begins with the call of that number."""
        self.changed, self.last = time.monotonic(), NOT_BEGUN
        (self.folder / PROGRESS).write_bytes(struct.pack("<q", NOT_BEGUN))
        words = {"seed": self.options.seed, "first": first, "calls": max(self.end - first, 0)}
        words |= {"step": self.options.processes, "folder": self.folder}
        words |= {"kind": self.options.kind} if self.options.kind else {}
        command = [sys.executable, str(Path(__file__).resolve())]
        command += [f"--{k}={v}" for k, v in words.items()]
        cwd = self.folder / "cwd"
        cwd.mkdir(exist_ok=True)
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL)

    def number(self) -> int:
        """The call that it does now."""
        return struct.unpack("<q", (self.folder / PROGRESS).read_bytes())[0]

    def is_over(self) -> bool:
        """Looks after the process; true when all its calls are done."""
        ended, number = self.process.poll() is not None, self.number()
        if number != self.last:
            self.last, self.changed = number, time.monotonic()
        stuck = time.monotonic() - self.changed > STUCK
        if not ended and not stuck:
            return False
        self.process.kill()
        self.process.wait()
        if number == DONE:
            return True
        if number == NOT_BEGUN:
            raise SystemExit("a process ended before its first call")
        why = "stuck" if stuck else f"the process died ({self.process.returncode})"
        with open(self.folder / FOUND, "a", encoding="utf-8") as found:
            print(f"{number}\t{why}\t{case_of(self.options, number).text()!r}", file=found)
        self.start(number + self.options.processes)
        return False

    def found(self) -> list[tuple[int, str, str]]:
        """Number, fault and description of each call that went wrong."""
        lines = (self.folder / FOUND).read_text("utf-8").splitlines()
        parts = [line.split("\t", 2) for line in lines]
        return [(int(number), wrong, text) for number, wrong, text in parts]


def kind_of(wrong: str, text: str) -> str:
    """Faults that are probably the same one."""
    name = re.match(r"['\"](\w+[:,] way \d|\w+: \w+|[\w.]+)", text)
    return f"{name[1] if name else ''} {re.sub(r'[0-9]+', 'N', wrong)[:60]}"


def report(found: list[tuple[int, str, str]]) -> int:
    """Prints each kind of fault once; returns how many kinds there are."""
    kinds = Counter(kind_of(wrong, text) for _, wrong, text in found)
    seen = set()
    for number, wrong, text in sorted(found):
        kind = kind_of(wrong, text)
        if kind not in seen:
            seen.add(kind)
            print(f"{number} ({kinds[kind]} times): {wrong}\n    {text[:700]}")
    return len(kinds)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, help="all of them if not given")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Watches over the processes that do the calls."""
    options = arguments()
    if options.folder:
        work(options)
        return 0
    # In memory if possible: the calls write many small files.
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        workers = [Worker(options, i, folder) for i in range(options.processes)]
        over = [False] * len(workers)
        while not all(over):
            time.sleep(0.05)
            over = [done or w.is_over() for done, w in zip(over, workers, strict=True)]
        kinds = report([f for w in workers for f in w.found()])
    print(f"{options.calls} calls, {kinds} kinds of faults")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
