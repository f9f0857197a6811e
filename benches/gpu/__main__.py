"""Ferromix on a GPU beside torch and CuPy, in one process and in turn.

usage: python -m benches.gpu [--sizes large|small] [--types float32 float16] [--only WORD ...]
                             [--parts memory compute launches networks] [--rounds N] [--seconds S]

Prints a Markdown table: what each package reaches, what that is of the best copy or product that
any of them was seen to do, and how many times as fast Ferromix is. torch and CuPy have figures
where they are installed and see the GPU. Below is what a package refused, and what of Ferromix ran
on the CPU.

FERROMIX_GPU_DRIVER=host with --sizes small tries all of it without a GPU; its figures say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterable, Iterator

from ferromix import _core

from . import compute, launches, memory, training
from .packages import HOST, Package, packages
from .row import arithmetic, bandwidth
from .table import Line, head, row
from .timing import Clock

PARTS = ("memory", "compute", "launches", "networks")


def best(line: Line) -> float | None:
    """The most that any package does, on a GPU; the stand-in's figures bound nothing."""
    return None if HOST else max(line.values.values(), default=None)


def chosen(name: str, words: list[str]) -> bool:
    return not words or any(word in name for word in words)


def lines(options: argparse.Namespace, found: dict[str, Package], clock: Clock) -> Iterator[Line]:
    """All that is asked for."""
    size, words = options.sizes, options.only
    for dtype in options.types:
        if "memory" in options.parts:
            first = bandwidth(memory.copy(size), dtype, found, clock)
            yield first
            for each in [memory.cast(size, dtype), *memory.rows(size)]:
                if chosen(each.name, words):
                    yield bandwidth(each, dtype, found, clock, best(first))
        if "compute" in options.parts:
            first = arithmetic(compute.matmul(size), dtype, found, clock)
            yield first
            for each in compute.rows(size):
                if chosen(each.name, words):
                    yield arithmetic(each, dtype, found, clock, best(first))
    if "launches" in options.parts:
        yield from launches.lines(size, found, clock)
    if "networks" in options.parts:
        yield from training.lines(size, options.types, found, clock)


def show(measured: Iterable[Line]) -> None:
    print(head())
    for line in measured:
        print(row(line), flush=True)


def machine(found: dict[str, Package]) -> str:
    """The GPU, and the versions of what is measured."""
    versions = [f"{name} {package.version}" for name, package in found.items()]
    if HOST:
        return f"no GPU, the stand-in; {', '.join(versions)}"
    return f"{_core.gpu_properties(0)[0]}; {', '.join(versions)}"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches.gpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", choices=("large", "small"), default="large")
    parser.add_argument("--types", nargs="+", default=["float32", "float16"], choices=memory.OTHER)
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--rounds", type=int, help="turns of each package; 5, small: 1")
    parser.add_argument("--seconds", type=float, help="of a turn; 0.1, small: a single call")
    parser.add_argument("--chain", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = parsed()
    small = options.sizes == "small"
    if options.chain:
        only = packages()["ferromix"]
        print(json.dumps(launches.run(launches.ferromix_bound, only, options.sizes)))
        return
    rounds = options.rounds or (1 if small else 5)
    seconds = options.seconds if options.seconds is not None else (0 if small else 0.1)
    clock, found = Clock(seconds, rounds), packages()
    print(f"{machine(found)}; load average {os.getloadavg()[0]:.1f}\n")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        show(lines(options, found, clock))
    print()
    for note in [*clock.notes(), *dict.fromkeys(str(warning.message) for warning in told)]:
        print(f"* {note}")


if __name__ == "__main__":
    main()
