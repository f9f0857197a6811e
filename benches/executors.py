"""Ways to run one graph, beside MXNet's, in turns within one run; prints Markdown.

usage: python benches/executors.py [--mxnet PYTHON] [--rounds N]

A perceptron of eight layers of 16 units with 8 samples, so that most of the time goes into pushing
operators. It is bound, watched by a monitor, and called as a CachedOp. PYTHON is an interpreter
whose environment has MXNet 1.9.1; without it only Ferromix is measured. Figures are microseconds of
a pass, until its results are there, the best of all rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import Any

from autograd import best, run

LAYERS, UNITS, SAMPLES = 8, 16, 8


def network(mx: Any) -> Any:
    """The graph."""
    net = mx.sym.Variable("data")
    for i in range(LAYERS):
        net = mx.sym.FullyConnected(net, num_hidden=UNITS, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"act{i}")
    return net


def measure(mx: Any) -> dict[str, float]:
    """All figures of one package."""
    net, wait = network(mx), mx.nd.waitall
    shapes = net.infer_shape(data=(SAMPLES, UNITS))[0]
    arrays = [mx.nd.ones(s) * 0.05 for s in shapes]
    head = mx.nd.ones((SAMPLES, UNITS))
    executor = net.bind(mx.cpu(), arrays, [mx.nd.zeros(s) for s in shapes])

    def predict() -> None:
        executor.forward()
        wait()

    def train() -> None:
        executor.forward(is_train=True)
        executor.backward(head)
        wait()

    found = {
        "executor: predict": best(predict, wait, 50),
        "executor: train": best(train, wait, 50),
    }
    executor.set_monitor_callback(lambda name, array: None)
    found["the same with a monitor callback: predict"] = best(predict, wait, 50)
    op = importlib.import_module(f"{mx.__name__}.ndarray").CachedOp(
        net, [("static_alloc", True), ("static_shape", True)]
    )

    def call() -> None:
        op(*arrays)
        wait()

    found["`CachedOp`: predict"] = best(call, wait, 50)
    for array in arrays:
        array.attach_grad()

    def record() -> None:
        with mx.autograd.record():
            y = op(*arrays)
        y.backward()
        wait()

    found["`CachedOp`: record and differentiate"] = best(record, wait, 50)
    return found


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
    turns = range(options.rounds)
    rounds = [{p: run(python, p, __file__) for p, python in pythons.items()} for _ in turns]
    print("| microseconds | " + " | ".join(pythons) + " |\n|" + "---|" * (len(pythons) + 1))
    for what in rounds[0]["ferromix"]:
        cells = [f"{min(r[p][what] for r in rounds):.1f}" for p in pythons]
        print(f"| {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
