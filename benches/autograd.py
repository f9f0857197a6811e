"""Autograd beside MXNet's, in turns within one run; prints Markdown.

usage: python benches/autograd.py [--mxnet PYTHON] [--rounds N]

What recording adds to an operation, what a backward pass costs for each recorded operation, and a
step of a small network, imperatively. PYTHON is an interpreter whose environment has MXNet 1.9.1;
without it only Ferromix is measured. Figures are microseconds, the best of all rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CHAIN = 100
WARM_UP = 20


def best(work: Callable[[], object], finish: Callable[[], object], count: int) -> float:
    """Microseconds of one of `count` calls, the best of several times."""
    found = []
    for _ in range(WARM_UP):
        start = time.perf_counter()
        for _ in range(count):
            work()
        found.append((time.perf_counter() - start) / count)
        finish()
    return min(found) * 1e6


def measure(mx: Any) -> dict[str, float]:
    """All figures of one package."""
    autograd, wait = mx.autograd, mx.nd.waitall
    a, b = mx.nd.ones((4, 4)), mx.nd.ones((4, 4))
    found = {"`a + b`": best(lambda: a + b, wait, 1000)}
    a.attach_grad()
    with autograd.record():
        found["`a + b`, recorded"] = best(lambda: a + b, wait, 1000)

    def chain() -> None:
        with autograd.record():
            y = a
            for _ in range(CHAIN):
                y = y * b
        y.backward()

    found["record and differentiate, per operation"] = best(chain, wait, 5) / CHAIN
    found["a step of a perceptron"] = best(perceptron(mx), wait, 5)
    return found


def perceptron(mx: Any) -> Callable[[], None]:
    """One step of training, with 32 samples of 64 numbers."""
    data, label = mx.nd.ones((32, 64)), mx.nd.zeros((32,))
    shapes = [(64, 64), (64,), (64, 64), (64,), (10, 64), (10,)]
    weights = [mx.nd.ones(s) * 0.01 for s in shapes]
    for weight in weights:
        weight.attach_grad()

    def step() -> None:
        with mx.autograd.record():
            h = data
            for i in (0, 2):
                h = mx.nd.FullyConnected(h, weights[i], weights[i + 1], num_hidden=64)
                h = mx.nd.Activation(h, act_type="relu")
            h = mx.nd.FullyConnected(h, weights[4], weights[5], num_hidden=10)
            out = mx.nd.SoftmaxOutput(h, label)
        out.backward()
        for weight in weights:
            mx.nd.sgd_update(weight, weight.grad, lr=0.01, out=weight)
        mx.nd.waitall()

    return step


def run(python: str, package: str, script: str = __file__) -> dict[str, float]:
    """The figures of a package, from a process of its own that runs `script`."""
    command = [python, script, "--measure", package]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mxnet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(importlib.import_module(options.measure))))
        return
    pythons = {"ferromix": sys.executable}
    if options.mxnet:
        pythons["mxnet"] = options.mxnet
    rounds = [{p: run(python, p) for p, python in pythons.items()} for _ in range(options.rounds)]
    print("| microseconds | " + " | ".join(pythons) + " |\n|" + "---|" * (len(pythons) + 1))
    for what in rounds[0]["ferromix"]:
        cells = [f"{min(r[p][what] for r in rounds):.2f}" for p in pythons]
        print(f"| {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
