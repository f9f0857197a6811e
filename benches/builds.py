"""Two builds of Ferromix, in turns; prints the ratios of their times as Markdown.

usage: python benches/builds.py PYTHON [--rounds N] [--kernels] [--sizes BYTES ...]

PYTHON is the interpreter of a checkout of another commit, with its build. Each round measures
small operations, bound graphs and autograd (or, with ``--kernels``, kernels of the sizes), first
with one build, then with the other, in a process each; the benches are this checkout's. A ratio
above 1: this build takes longer. The lower quartile of the rounds is what counts, as other work
only adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
Times = dict[str, float]


def small(python: str) -> Times:
    """Microseconds of small operations."""
    found: Times = {}
    for bench, what in (("dispatch.py", "ferromix"), ("autograd.py", "ferromix")):
        command = [python, str(HERE / bench), "--measure", what]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def kernels(python: str, sizes: list[int]) -> Times:
    """Seconds of every kernel, at one thread."""
    words = ["--measure", "--rounds", "3", "--sizes", *map(str, sizes)]
    done = subprocess.run(
        [python, str(HERE / "kernels.py"), *words],
        env={**os.environ, "FERROMIX_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    rows = map(json.loads, done.stdout.splitlines())
    return {f"{name}, {size >> 10} KiB": min(times["ferromix"]) for name, size, times in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4 << 10, 1 << 20])
    args = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        pythons = (sys.executable, args.python)
        new, old = (kernels(p, args.sizes) if args.kernels else small(p) for p in pythons)
        for what in new.keys() & old.keys():
            ratios.setdefault(what, []).append(new[what] / old[what])
    print("| this build's time by the other's | lower quartile | median |\n|---|---|---|")
    for what, found in sorted(ratios.items()):
        low, middle, _ = statistics.quantiles(found, n=4)
        print(f"| {what} | {low:.3f} | {middle:.3f} |")


if __name__ == "__main__":
    main()
