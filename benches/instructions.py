"""Instructions and simulated cache misses of an engine operation, by callgrind; prints Markdown.

usage: python benches/instructions.py [--workers N] [--shapes NAME,NAME]

Runs rust/engine/examples/patterns.rs under valgrind twice for each shape, once with twice as many
operations, and divides what the second run takes more: set-up drops out. Counts are of all threads,
so those of workers that look for work are in; valgrind runs one thread at a time, hence no misses
that cores cause each other. Caches are those of the processor it runs on.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from contenders import cargo_example

SHAPES = "independent,chain,fan,random,wide"
# More operations than the shapes have different ones, so that none is made up in between.
OPERATIONS = 1 << 18


def counts(program: Path, mode: str, shape: str, operations: int, workers: int) -> dict[str, int]:
    """Events of one run, by callgrind's names."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "profile")
        tool = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--fair-sched=yes"]
        run = [program, mode, shape, "--rounds", "1", "--workers", str(workers)]
        run += ["--operations", str(operations)]
        subprocess.run(
            [*tool, f"--callgrind-out-file={out}", *run], check=True, capture_output=True
        )
        lines = dict(line.split(": ", 1) for line in out.read_text().splitlines() if ": " in line)
    return dict(zip(lines["events"].split(), map(int, lines["totals"].split()), strict=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--shapes", default=SHAPES)
    options = parser.parse_args()
    program = cargo_example("ferromix-engine", "patterns")
    print("| shape | push: instructions | L1 misses | L3 misses |", end="")
    print(" replay: instructions | L1 misses | L3 misses |\n|" + "---|" * 7)
    for shape in options.shapes.split(","):
        cells = [shape]
        for mode in ("push", "replay"):
            once, twice = (
                counts(program, mode, shape, k * OPERATIONS, options.workers) for k in (1, 2)
            )
            per = {name: (twice[name] - once[name]) / OPERATIONS for name in once}
            cells += [
                f"{per['Ir']:.0f}",
                f"{per['D1mr'] + per['D1mw']:.2f}",
                f"{per['DLmr'] + per['DLmw']:.3f}",
            ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
