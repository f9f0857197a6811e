"""The kernels of Ferromix beside NumPy and torch, from 1 KiB to 64 MiB, on one thread and on two.

usage: python benches/kernels.py [--torch PYTHON] [--threads 1 2] [--sizes BYTES ...]
                                 [--only WORD ...] [--rounds N] [--json FILE]

Prints a Markdown table. A cell has how many times as fast as the better peer the kernel is, where
each package's time for one element, the price of its call, is taken off; in parentheses the same
with the calls. Below are counts, and what the calls cost.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import elementwise
import reduce
from beside import Peer, Row, lines, serve

SIZES = [1 << 10, 1 << 15, 1 << 20, 1 << 26]
ROWS: dict[str, Row] = {row.name: row for row in [*elementwise.ROWS, *reduce.ROWS]}
# What a call takes varies by about this, or by this part of it: shorter kernels count as if they
# took so long.
LEAST, PART = 2e-8, 0.03

# Of each package, turn by turn.
Times = dict[str, list[float]]


class Cell:
    """The times of one operator at one size, beside those of one element."""

    def __init__(self, times: Times, calls: Times) -> None:
        price = {name: statistics.median(seconds) for name, seconds in calls.items()}
        nets = {n: [t - c for t, c in zip(times[n], calls[n], strict=True)] for n in times}
        whole, ratios = {}, {}
        for name in times.keys() - {"ferromix"}:
            whole[name] = self.quotient(times[name], times["ferromix"], 0.0)
            least = max(LEAST, PART * max(price[name], price["ferromix"]))
            # Functions of several steps may take longer for one element: then calls count, too.
            told = statistics.median(nets[name]) > -least
            net = self.quotient(nets[name], nets["ferromix"], least)
            ratios[name] = net if told else whole[name]
        self.gross = min(whole.values())
        self.ratio, self.against = min((ratio, name) for name, ratio in ratios.items())
        self.numpy = ratios.get("numpy")

    @staticmethod
    def quotient(peer: list[float], ours: list[float], least: float) -> float:
        """How many times as fast as the peer, in the middle of all turns."""
        pairs = zip(peer, ours, strict=True)
        return statistics.median(max(p, least) / max(o, least) for p, o in pairs)

    def __str__(self) -> str:
        return f"{self.ratio:.2f} {self.against[0]} ({self.gross:.2f})"


def label(size: int) -> str:
    return f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def run(args: argparse.Namespace) -> None:
    """Measures in this process, whose number of threads is set; prints lines of JSON."""
    rows = {n: r for n, r in ROWS.items() if any(w in n for w in args.only)}
    threads = int(os.environ["FERROMIX_NUM_THREADS"])
    torch = Peer(args.torch, threads) if args.torch else None
    for line in lines(rows, args.sizes, args.rounds, torch):
        print(json.dumps(line), flush=True)


def collect(threads: int) -> dict[str, dict[int, Times]]:
    """The times of all rows with so many threads."""
    env = {**os.environ, "FERROMIX_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--measure", *sys.argv[1:]]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, dict[int, Times]] = defaultdict(dict)
    for name, size, times in map(json.loads, done.stdout.splitlines()):
        found[name][size] = times
    return found


def summary(cells: dict[tuple[str, int, int], Cell]) -> list[str]:
    """What the table shows, counted."""
    found = []
    for what, ratio in (("kernels", lambda c: c.ratio), ("with calls", lambda c: c.gross)):
        ratios = [ratio(cell) for cell in cells.values()]
        high, low = sum(r >= 1 for r in ratios), sum(r < 0.7 for r in ratios)
        share = 100 * high / max(len(ratios), 1)
        found.append(
            f"{what}: {high} of {len(ratios)} at least 1.0 ({share:.0f} %), {low} below 0.7"
        )
    wanted = [(key, c) for key, c in cells.items() if ROWS[key[0]].target > 1 and c.numpy]
    short = [
        f"{name}, {label(size)}, {threads}: {c.numpy:.2f}"
        for (name, threads, size), c in wanted
        if c.numpy and c.numpy < ROWS[name].target
    ]
    met = len(wanted) - len(short)
    found.append(f"1.5x NumPy: {met} of {len(wanted)}" + "".join(f"; {s}" for s in short))
    return found


def rows_won(cells: dict[tuple[str, int, int], Cell]) -> str:
    """Of how many rows the geometric mean is at least 1."""
    rows: dict[str, list[float]] = defaultdict(list)
    for (name, _, _), cell in cells.items():
        rows[name].append(cell.ratio)
    means = {name: statistics.geometric_mean(ratios) for name, ratios in rows.items()}
    below = [f"{name} {mean:.2f}" for name, mean in means.items() if mean < 1]
    high = len(rows) - len(below)
    return f"rows: the mean of {high} of {len(rows)} is at least 1.0; below: " + ", ".join(below)


def show(args: argparse.Namespace) -> None:
    """Measures in processes of their own; prints the table and its summary."""
    print(
        f"load average {os.getloadavg()[0]:.1f}; float32; n, t: the better peer is NumPy, torch\n"
    )
    all_times = {t: collect(t) for t in args.threads}
    if args.json:
        Path(args.json).write_text(json.dumps(all_times, indent=1))
    report(all_times, args.sizes)


def report(all_times: dict[int, dict[str, dict[int, Times]]], sizes: list[int]) -> None:
    """Prints what was measured with each number of threads."""
    columns = [(t, size) for t in all_times for size in sizes]
    names = list(next(iter(all_times.values())))
    cells: dict[tuple[str, int, int], Cell] = {}
    print("| operator | " + " | ".join(f"{label(s)}, {t}" for t, s in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    prices: dict[str, list[float]] = defaultdict(list)
    for name in names:
        texts = []
        for threads, size in columns:
            times = all_times[threads][name]
            cell = cells[name, threads, size] = Cell(times[size], times[4])
            texts.append(str(cell))
        for times in all_times.values():
            for package, seconds in times[name][4].items():
                prices[package].append(statistics.median(seconds))
        print(f"| {name} | " + " | ".join(texts) + " |")
    print()
    for line in [rows_won(cells), *summary(cells)]:
        print(line)
    middle = {p: sorted(s)[len(s) // 2] * 1e6 for p, s in prices.items()}
    print("calls, median: " + ", ".join(f"{p} {us:.2f} us" for p, us in middle.items()))


def main() -> None:
    parser: Any = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default="", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--json", default="", metavar="FILE", help="write all times there, too")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(ROWS)
    elif args.measure:
        run(args)
    else:
        show(args)


if __name__ == "__main__":
    main()
