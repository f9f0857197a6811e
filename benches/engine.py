"""The dependency engine beside its peers, in turns within one run; prints Markdown.

usage: python benches/engine.py [--mxnet PYTHON] [--shapes five|all|NAME,NAME] [--operations N]
                                [--rounds N] [--flat | --metg]

Shapes of dependency (rust/engine/benches/shapes) run on Ferromix, pushed and as a replayed program
(rust/engine/examples/patterns.rs), on OpenMP tasks (`task depend`) of GCC and of LLVM, and on
MXNet 1.9.1 if PYTHON is an interpreter whose environment has it. What is not there is left out, and
named. Figures are nanoseconds per operation from the first push to the last completion, the best of
all rounds; ratios are times of Ferromix's.

--flat runs Ferromix alone, with 10^4 to 10^7 operations: a cost that grows with history would show.
--metg finds the minimum effective task granularity: see `metg` below.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import contenders
from contenders import PUSH, REPLAY, Contender

# What a push and a replayed operation should cost at most, in nanoseconds.
TARGETS = {
    "independent": (60, 25),
    "chain": (60, 30),
    "fan": (150, 40),
    "random": (250, 50),
    "wide": (400, 120),
}
GRIDS = ["stencil_1d", "fft", "spread", "random_nearest"]
OTHERS = ["relay", "tree", "wavefront", "traversal", *GRIDS]
SIZES = [10**4, 10**5, 10**6, 10**7]
GRAINS = [2**k for k in range(4, 17)]
WORKERS = 2


def table(head: list[str], rows: Iterator[list[str]] | list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def target_cells(shape: str, which: int, ns: float) -> list[str]:
    """The target, and whether it is met."""
    if shape not in TARGETS:
        return ["", ""]
    target = TARGETS[shape][which]
    return [str(target), "yes" if ns <= target else "no"]


def compare(options: argparse.Namespace, shapes: list[str], runners: list[Contender]) -> None:
    """Two tables: pushes beside the peers, replay beside pushes."""
    best: dict[str, dict[str, float]] = {}
    for shape in shapes:
        times = best[shape] = {runner.name: math.inf for runner in runners}
        for _ in range(options.rounds):
            for runner in runners:
                ns = runner.run(shape, options.operations).ns
                times[runner.name] = min(times[runner.name], ns)
    others = [runner.name for runner in runners if runner.name not in (PUSH, REPLAY)]
    print(f"Push, {options.operations} operations, one pusher, {WORKERS} workers:\n")
    head = ["shape", "Ferromix", "target", "met"]
    head += [cell for name in others for cell in (name, "ratio")]
    rows = []
    for shape, times in best.items():
        row = [shape, f"{times[PUSH]:.0f}", *target_cells(shape, 0, times[PUSH])]
        for name in others:
            row += [f"{times[name]:.0f}", f"{times[name] / times[PUSH]:.1f}"]
        rows.append(row)
    table(head, rows)
    print("Replay of a program of 10,000 operations, and what the pushes above took times that:\n")
    rows = []
    for shape, times in best.items():
        row = [shape, f"{times[REPLAY]:.0f}", *target_cells(shape, 1, times[REPLAY])]
        rows.append(row + [f"{times[name] / times[REPLAY]:.1f}" for name in (PUSH, *others)])
    table(["shape", "replay", "target", "met", "push", *others], rows)


def flat(options: argparse.Namespace, shapes: list[str], runners: list[Contender]) -> None:
    """Two tables of the cost by number of operations, each size in a process of its own."""
    for runner in runners:
        print(f"{runner.name}, ns per operation and peak memory of the process, MiB:\n")
        powers = [f"10^{len(str(size)) - 1}" for size in SIZES]
        head = ["shape", *powers, "10^7 / 10^4", "MiB, 10^4", "MiB, 10^7"]

        def rows(runner: Contender = runner) -> Iterator[list[str]]:
            for shape in shapes:
                best, peak = dict.fromkeys(SIZES, math.inf), dict.fromkeys(SIZES, 0.0)
                for _ in range(options.rounds):
                    for size in SIZES:
                        # At least 10^6 operations of each size. The best of many short rounds
                        # would be luckier than that of few long ones, so their mean counts.
                        result = runner.run(shape, size, rounds=max(1, 10**6 // size))
                        best[size] = min(best[size], result.mean)
                        peak[size] = max(peak[size], result.peak_mib)
                yield [
                    shape,
                    *(f"{ns:.0f}" for ns in best.values()),
                    f"{best[SIZES[-1]] / best[SIZES[0]]:.2f}",
                    f"{peak[SIZES[0]]:.1f}",
                    f"{peak[SIZES[-1]]:.1f}",
                ]

        table(head, rows())


def metg(options: argparse.Namespace, shapes: list[str], runners: list[Contender]) -> None:
    """A table of METG(50 %): the shortest operations that keep the workers half busy with them.

    As defined by Slaughter et al., Task Bench (SC 2020): the time that the workers have for an
    operation (wall time * workers / operations) where useful work is half of it. Useful work is
    what the operation's loop takes, at the best rate of all with the longest operations.
    """
    print(f"METG(50 %), microseconds, {WORKERS} workers, 64 points:\n")

    def rows() -> Iterator[list[str]]:
        for shape in shapes:
            curves = {runner.name: dict.fromkeys(GRAINS, math.inf) for runner in runners}
            for grain in reversed(GRAINS):
                operations = min(50_000, 2 * 10**8 // grain)
                for _ in range(options.rounds):
                    for runner in runners:
                        curve = curves[runner.name]
                        ns = runner.run(shape, operations, grain).ns * WORKERS
                        curve[grain] = min(curve[grain], ns)
            turn = min(curve[GRAINS[-1]] for curve in curves.values()) / GRAINS[-1]
            yield [shape, *(granularity(curve, turn) for curve in curves.values())]

    table(["shape", *(runner.name for runner in runners)], rows())


def granularity(curve: dict[int, float], turn: float) -> str:
    """Where efficiency crosses one half, between the two grains around, in microseconds.

    `curve` has the worker time per operation by its turns; a turn takes `turn`, both nanoseconds.
    """
    points = [(turn * grain / ns, ns) for grain, ns in sorted(curve.items(), reverse=True)]
    for (high, coarse), (low, fine) in itertools.pairwise(points):
        if low < 0.5 <= high:
            share = (high - 0.5) / (high - low)
            return f"{coarse * (fine / coarse) ** share / 1000:.2f}"
    return "none" if points[0][0] < 0.5 else f"< {points[-1][1] / 1000:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="interpreter of an environment with MXNet 1.9.1")
    parser.add_argument("--shapes", help="five (the default), all, or names with commas")
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--flat", action="store_true", help="cost by number of operations")
    mode.add_argument("--metg", action="store_true", help="minimum effective task granularity")
    options = parser.parse_args()
    named = {"five": list(TARGETS), "all": [*TARGETS, *OTHERS]}
    wanted = options.shapes or ("stencil_1d" if options.metg else "five")
    shapes: list[str] = list(named.get(wanted) or wanted.split(","))
    with tempfile.TemporaryDirectory() as folder:
        runners, notes = contenders.ferromix(), []
        if not options.flat:
            found, notes = contenders.peers(Path(folder), shapes, options.mxnet)
            runners += found
        run = flat if options.flat else metg if options.metg else compare
        print(contenders.environment_line() + "\n")
        run(options, shapes, runners)
        print("\n".join([*notes, contenders.environment_line()]))


if __name__ == "__main__":
    main()
