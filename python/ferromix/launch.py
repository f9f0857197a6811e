"""Starts the processes of a program: ``python -m ferromix.launch -n 4 python train.py``.

It takes the options of MXNet's ``tools/launch.py``, so that its command lines keep working, and
makes a command of MPI's launcher of them. There are no processes that only serve: each worker
serves its part of the keys.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["command", "main", "parser"]


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m ferromix.launch", description="Start a distributed program under MPI."
    )
    add = made.add_argument
    add("-n", "--num-workers", type=int, required=True, help="processes that train")
    add("-s", "--num-servers", type=int, help="accepted; the workers serve")
    add("-H", "--hostfile", help="file with a host a line, maybe with ' slots=N'")
    add(
        "--launcher",
        choices=("local", "ssh", "mpi", "slurm", "sge", "yarn"),
        default="ssh",
        help="who starts the processes; without a host file ssh and mpi mean this machine",
    )
    add("--sync-dst-dir", help="not supported: share the folder, or copy it before")
    for role in ("worker", "server"):
        add(
            f"--env-{role}",
            action="append",
            default=[],
            metavar="NAME:VALUE",
            help=f"a variable for each {role}",
        )
    add("--env", action="append", default=[], metavar="NAME", help="a variable to pass on")
    add("--fault-tolerant", action="store_true", help="dist_async outlives workers that die")
    add("--p3", action="store_true", help="accepted; pushes go by priority anyhow")
    add("--dry-run", action="store_true", help="print the command of MPI's launcher only")
    add("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    return made


def command(options: argparse.Namespace) -> list[str]:
    """The command of MPI's launcher.

    Raises
    ------
    SystemExit
        For options that make no sense, or that name a cluster that is not supported.
    """
    program = [word for i, word in enumerate(options.command) if i or word != "--"]
    if options.num_workers < 1:
        raise SystemExit(f"launch: -n must be at least 1, got {options.num_workers}")
    if not program:
        raise SystemExit("launch: which program? Give it after the options")
    if len(program) == 1:  # MXNet's takes a quoted line, too
        program = shlex.split(program[0])
    if options.launcher in ("sge", "yarn"):
        raise SystemExit(
            f"launch: {options.launcher} starts MPI programs by itself; submit a job that runs "
            f"mpiexec -n {options.num_workers} {shlex.join(program)}"
        )
    if options.sync_dst_dir:
        raise SystemExit("launch: --sync-dst-dir is not supported; share the folder, or copy it")
    if options.launcher == "slurm":
        if options.fault_tolerant:
            raise SystemExit("launch: --fault-tolerant needs Open MPI's mpiexec, not srun")
        return ["srun", "-n", str(options.num_workers), "--mpi=pmix", *program]
    return [*_mpiexec(options), *_variables(options), *program]


def _mpiexec(options: argparse.Namespace) -> list[str]:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    if found is None:
        raise SystemExit('launch: there is no mpiexec; pip install "ferromix[dist]" brings one')
    # Each process has threads of its own, which are not to share one core.
    words = [found, "-n", str(options.num_workers), "--bind-to", "none"]
    if options.fault_tolerant:
        words += ["--with-ft", "ulfm"]
    if os.geteuid() == 0:
        words.append("--allow-run-as-root")
    if options.hostfile and options.hostfile != "None" and options.launcher != "local":
        if not os.path.isfile(options.hostfile):
            raise SystemExit(f"launch: there is no host file {options.hostfile}")
        words += ["--hostfile", options.hostfile, "--map-by", "node:OVERSUBSCRIBE"]
    elif options.num_workers > (os.cpu_count() or 1):
        words.append("--oversubscribe")
    return words


def _variables(options: argparse.Namespace) -> list[str]:
    words = []
    for pair in options.env_worker:
        name, colon, value = pair.partition(":")
        if not colon:
            raise SystemExit(f"launch: --env-worker takes NAME:VALUE, got {pair!r}")
        words += ["-x", f"{name}={value}"]
    for name in options.env:
        words += ["-x", name]
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    """Becomes the command of MPI's launcher, so that signals reach it; the status is that one's."""
    options = parser().parse_args(arguments)
    words = command(options)
    if options.dry_run:
        print(shlex.join(words))
        return 0
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise SystemExit(f"launch: {words[0]} cannot be started: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
