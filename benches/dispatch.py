"""What a small operation, and a node of a bound graph, cost in Ferromix, MXNet, torch and NumPy.

usage: python benches/dispatch.py [--mxnet PYTHON] [--torch PYTHON] [--rounds N]

PYTHON is an interpreter whose environment has the package. Each measurement is a process of its
own; the packages take turns, and the table holds the median over the rounds, in microseconds.
Prints Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

SHAPE = (16, 16)
NODES = 200
# What was asked for, in microseconds.
TARGETS = {
    "`a + b`, (16, 16)": 0.9,
    "the same with `out=`": 0.8,
    "`(a + b).asnumpy()`": 2.5,
    f"bound graph of {NODES} tiny nodes: forward, per node": 0.12,
    "the same, forward + backward, per forward node": 0.28,
}
ADD, INTO, TRIP, FORWARD, BOTH = TARGETS
RECORDED = "`a + b`, recorded"
Pairs = Iterator[tuple[str, float]]
Times = dict[str, dict[str, list[float]]]


def cost(run: Callable[[int], Any], calls: int, wait: Callable[[], Any] = int) -> float:
    """Microseconds of one of so many calls that `run` makes, the median of seven rounds.

    `wait` waits for the end of what was called.
    """
    found = []
    for _ in range(8):
        start = time.perf_counter()
        run(calls)
        wait()
        found.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(found[1:])


def sums(a: Any, b: Any) -> Callable[[int], None]:
    """Loops are in functions of their own, as a call of a function would count, too."""

    def run(calls: int) -> None:
        for _ in range(calls):
            a + b

    return run


def sums_into(add: Any, a: Any, b: Any, c: Any) -> Callable[[int], None]:
    def run(calls: int) -> None:
        for _ in range(calls):
            add(a, b, out=c)

    return run


def arrays(package: Any) -> Pairs:
    """NumPy and torch."""
    a, b, c = (package.ones(SHAPE) for _ in range(3))
    yield ADD, cost(sums(a, b), 20_000)
    yield INTO, cost(sums_into(package.add, a, b, c), 20_000)
    if package.__name__ == "torch":
        a.requires_grad_()
        yield RECORDED, cost(sums(a, b), 20_000)


def operations(mx: Any) -> Pairs:
    """MXNet and Ferromix, call by call."""
    a, b, c = (mx.nd.ones(SHAPE) for _ in range(3))
    wait, plain = mx.nd.waitall, sums(a, b)
    yield ADD, cost(plain, 20_000, wait)
    yield INTO, cost(sums_into(mx.nd.elemwise_add, a, b, c), 20_000, wait)

    def trips(calls: int) -> None:
        for _ in range(calls):
            (a + b).asnumpy()

    yield TRIP, cost(trips, 5_000, wait)
    a.attach_grad()

    def recorded(calls: int) -> None:
        # A tape of its own for every hundred, as a step of training has.
        for _ in range(calls // 100):
            with mx.autograd.record():
                plain(100)

    yield RECORDED, cost(recorded, 20_000, wait)


def graph(mx: Any) -> Pairs:
    """A chain of small operators, bound."""
    y = mx.sym.Variable("x")
    for i in range(NODES):
        y = mx.sym.tanh(y) if i % 2 else y + 1
    executor = y.simple_bind(mx.cpu(), grad_req="write", x=(4, 4))
    executor.arg_dict["x"][:] = 0.1
    heads = [mx.nd.ones((4, 4))]

    def forward(calls: int) -> None:
        for _ in range(calls):
            executor.forward(is_train=False)

    def both(calls: int) -> None:
        for _ in range(calls):
            executor.forward(is_train=True)
            executor.backward(heads)

    for what, run in ((FORWARD, forward), (BOTH, both)):
        yield what, cost(run, 100, mx.nd.waitall) / NODES


def measure(name: str) -> None:
    """Measures the package in this process; prints JSON."""
    package = importlib.import_module(name)
    if name in ("numpy", "torch"):
        found = dict(arrays(package))
    else:
        found = dict([*operations(package), *graph(package)])
    print(json.dumps(found))


def table(times: Times) -> Iterator[str]:
    """The medians, and how many times as long the others take."""
    packages = list(times)
    head = [*packages, "target", *(f"{p} / ferromix" for p in packages[1:])]
    yield "| what | " + " | ".join(head) + " |"
    yield "|---" * (len(head) + 1) + "|"
    for what in [*TARGETS, RECORDED]:
        each = [statistics.median(times[p][what]) if what in times[p] else None for p in packages]
        cells = ["" if x is None else f"{x:.3g}" for x in each]
        cells.append(str(TARGETS.get(what, "")))
        cells += ["" if x is None else f"{x / (each[0] or 1):.1f}" for x in each[1:]]
        yield f"| {what} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", default="", metavar="PYTHON")
    parser.add_argument("--torch", default="", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    here = sys.executable
    interpreters = {"ferromix": here, "mxnet": args.mxnet, "torch": args.torch, "numpy": here}
    times: Times = {p: defaultdict(list) for p, i in interpreters.items() if i}
    for _ in range(args.rounds):
        for package, found in times.items():
            command = [interpreters[package], __file__, "--measure", package]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for what, microseconds in json.loads(output).items():
                found[what].append(microseconds)
    print("\n".join(table(times)))


if __name__ == "__main__":
    main()
