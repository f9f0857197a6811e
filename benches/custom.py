"""One call of a custom operator, beside MXNet's; prints Markdown.

usage: python benches/custom.py [--peer PYTHON] [--rounds N]

A `CustomOp` that copies its input, of four elements, so that nearly all of the time is the price of
the call: at once, recorded with its backward pass, and in a bound graph; with a wait after each
call, and after all. PYTHON is an interpreter with MXNet 1.9.1, which runs the same in a process of
its own, in turns with this one. Figures are microseconds of a call, the best of all rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CALLS = 400
WARM = 100
TARGET = 3


def library() -> Any:
    """Ferromix, or MXNet where that is what the interpreter has."""
    try:
        import ferromix as mx
    except ImportError:
        import mxnet as mx
    return mx


def register(mx: Any) -> None:
    """The operator."""

    class Copy(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0])

        def backward(
            self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
        ) -> None:
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("bench_copy")
    class CopyProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Copy:
            return Copy()


def cases(mx: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """By name, a call, and the wait for it."""
    register(mx)
    x, head = mx.nd.ones((4,)), mx.nd.ones((4,))
    variable = mx.nd.ones((4,))
    variable.attach_grad()
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="bench_copy")
    executor = symbol.bind(mx.cpu(), [x], [mx.nd.zeros((4,))])

    def recorded() -> None:
        with mx.autograd.record():
            out = mx.nd.Custom(variable, op_type="bench_copy")
        out.backward()

    def train() -> None:
        executor.forward(is_train=True)
        executor.backward(head)

    return {
        "forward, at once": (lambda: mx.nd.Custom(x, op_type="bench_copy"), mx.nd.waitall),
        "forward and backward, recorded": (recorded, mx.nd.waitall),
        "forward, bound": (lambda: executor.forward(is_train=False), mx.nd.waitall),
        "forward and backward, bound": (train, mx.nd.waitall),
    }


def seconds(call: Callable[[], Any], wait: Callable[[], Any], each: bool) -> float:
    """Of one call, with a wait after each, or after all."""

    def run(count: int) -> None:
        for _ in range(count):
            call()
            if each:
                wait()
        wait()

    run(WARM)
    begin = time.perf_counter()
    run(CALLS)
    return (time.perf_counter() - begin) / CALLS


def measure() -> dict[str, float]:
    """Microseconds of all cases of this interpreter's library."""
    mx = library()
    return {
        f"{name}, {'each waited for' if each else 'in a row'}": 1e6 * seconds(call, wait, each)
        for name, (call, wait) in cases(mx).items()
        for each in (True, False)
    }


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", action="store_true", help="only print the times")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure()))
        return
    peers = [sys.executable, *([options.peer] if options.peer else [])]
    best: list[dict[str, float]] = [{} for _ in peers]
    for _ in range(options.rounds):
        for peer, found in zip(peers, best, strict=True):
            command = [peer, __file__, "--child"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for name, value in json.loads(text.splitlines()[-1]).items():
                found[name] = min(value, found.get(name, value))
    print("| call | Ferromix, µs | MXNet, µs | ratio | target | met |\n|---|---|---|---|---|---|")
    for name, own in best[0].items():
        other = best[-1][name] if options.peer else 0.0
        met = "yes" if other >= TARGET * own else "no"
        print(f"| {name} | {own:.0f} | {other:.0f} | {other / own:.1f} | {TARGET} | {met} |")


if __name__ == "__main__":
    main()
