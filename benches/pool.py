"""The storage pool beside malloc, in turns within one run; prints Markdown.

usage: python benches/pool.py [--rounds N] [--only SCENARIO]

Runs rust/storage/examples/pool_cost.rs with the pool, and with malloc of glibc, and of jemalloc
and mimalloc by preloading where they are installed (Debian: libjemalloc2, libmimalloc2.0). Figures
are the best of all rounds, ratios are times of the pool's.
"""

from __future__ import annotations

import argparse
import ctypes.util
import json
import os
import subprocess
from pathlib import Path

from contenders import cargo_example, environment_line

POOL = "pool"
# What each scenario does, and what taking and giving back a block should cost at most, ns.
SCENARIOS = {
    "reuse": ("one block again and again, one thread", 40),
    "fight": ("the same on two threads at once", 80),
    "at random": ("two threads take and give back at random, up to 16 blocks each", 80),
    "hand over": ("one thread takes, another gives back", None),
    "touched": ("take, write to each page, give back", None),
    "fresh": ("the same, each time with new memory of the system", None),
    "step": ("24 blocks of 64 B to 40 MiB: take, write to each page, give all back", None),
}

Times = dict[tuple[str, int], float]


def allocators() -> tuple[dict[str, dict[str, str]], list[str]]:
    """Each malloc that is here with its environment, and why others are missing."""
    found: dict[str, dict[str, str]] = {"glibc": {}}
    missing = []
    for name in ("jemalloc", "mimalloc"):
        library = ctypes.util.find_library(name)
        if library:
            found[name] = {"LD_PRELOAD": library}
        else:
            missing.append(f"{name} was not run: lib{name} is not installed.")
    return found, missing


def measure(program: Path, which: str, env: dict[str, str], only: str) -> Times:
    """Nanoseconds by scenario and size."""
    done = subprocess.run(
        [program, which, only],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=True,
    )
    if "cannot be preloaded" in done.stderr:
        raise SystemExit(done.stderr.strip())
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(line["what"], line["size"]): line["ns"] for line in lines}


def size_text(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(ns: float) -> str:
    for unit, name in ((1e6, "ms"), (1e3, "µs")):
        if ns >= 10 * unit:
            return f"{ns / unit:.0f} {name}" if ns >= 100 * unit else f"{ns / unit:.1f} {name}"
    return f"{ns:.0f} ns"


def ratio_text(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def show(best: dict[str, Times]) -> None:
    others = [name for name in best if name != POOL]
    head = ["what", "block", POOL, "target", "met"]
    head += [cell for name in others for cell in (name, "ratio")]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    order = list(SCENARIOS)
    for (what, size), ns in sorted(best[POOL].items(), key=lambda row: order.index(row[0][0])):
        text, target = SCENARIOS[what]
        row = [text, "" if what == "step" else size_text(size), time_text(ns)]
        row += [f"{target} ns", "yes" if ns <= target else "no"] if target else ["", ""]
        for name in others:
            other = best[name].get((what, size))
            row += [time_text(other), ratio_text(other / ns)] if other else ["", ""]
        print("| " + " | ".join(row) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program")
    parser.add_argument("--only", default="all", choices=SCENARIOS, help="one scenario")
    options = parser.parse_args()
    program = cargo_example("ferromix-storage", "pool_cost")
    mallocs, missing = allocators()
    sides = {POOL: ("pool", {}), **{name: ("malloc", env) for name, env in mallocs.items()}}
    best: dict[str, Times] = {name: {} for name in sides}
    print(environment_line() + "\n")
    for _ in range(options.rounds):
        for name, (which, env) in sides.items():
            for key, ns in measure(program, which, env, options.only).items():
                best[name][key] = min(ns, best[name].get(key, ns))
    show(best)
    print("\n" + "\n".join([*missing, environment_line()]))


if __name__ == "__main__":
    main()
