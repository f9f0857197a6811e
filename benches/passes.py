"""What the passes over graphs save; prints Markdown.

usage: python benches/passes.py [--rounds N] [--models resnet20,resnet18] [--chains-only]

Chains of elementwise operators with their passes on and off, and networks with results kept and
computed again. Both ways are bound in one process and take turns; figures are the median of all
rounds, in milliseconds of a pass until its results are there. The networks are those of
``benches/train.py``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ferromix as mx
from ferromix import sym as S

CASES = [(1 << 12, 8), (1 << 15, 8), (1 << 18, 8), (1 << 22, 8)]


def chain(length: int) -> Any:
    """Cheap functions of one array after another, and of two."""
    x, y = S.Variable("x"), S.Variable("y")
    for i in range(length):
        x = S.relu(x * 0.5 + y) if i % 2 else S.square(x) - y
    return x


def lstm_like(length: int) -> Any:
    """The gates of a recurrent cell, step by step."""
    x, y = S.Variable("x"), S.Variable("y")
    for _ in range(length // 4):
        x = S.sigmoid(x) * y + S.tanh(x) * S.sigmoid(y)
        y = S.tanh(x) * S.sigmoid(y)
    return y


def bound(net: Any, env: Mapping[str, str], request: Any, shapes: Mapping[str, Any]) -> Any:
    """An executor that was bound with these settings."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    executor = net.simple_bind(mx.cpu(), request, **shapes)
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    draw = np.random.RandomState(0)
    for name, array in executor.arg_dict.items():
        array[:] = 1 if name.endswith("gamma") else draw.uniform(-0.1, 0.1, array.shape)
    for name, array in executor.aux_dict.items():
        array[:] = float(name.endswith("var"))
    return executor


def in_turn(ways: list[Callable[[], object]], rounds: int) -> list[float]:
    """Milliseconds of each way, in turns."""
    found: list[list[float]] = [[] for _ in ways]
    for number in range(rounds + 1):
        for way, times in zip(ways, found, strict=True):
            start = time.perf_counter()
            way()
            mx.nd.waitall()
            if number:
                times.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(times) for times in found]


def chains(rounds: int) -> None:
    """The table of chains."""
    print("| chain, elements | pass | apart | as one | ratio |\n|---|---|---|---|---|")
    for name, make in (("arithmetic", chain), ("gates", lstm_like)):
        for size, length in CASES:
            for train in (False, True):
                shapes = {"x": (size,), "y": (size,)}
                request = "write" if train else "null"
                ways: list[Callable[[], object]] = []
                for value in ("0", "1"):
                    net, env = make(length), {"FERROMIX_FUSION": value}
                    executor = bound(net, env, request, shapes)
                    head = mx.nd.ones((size,))

                    def run(executor: Any = executor, head: Any = head, on: bool = train) -> None:
                        executor.forward(is_train=on)
                        if on:
                            executor.backward(head)

                    ways.append(run)
                a, b = in_turn(ways, rounds * 5)
                kind = "train" if train else "predict"
                print(f"| {name}, {size} | {kind} | {a:.3f} | {b:.3f} | {a / b:.2f} |")


SETTINGS = {
    "all kept": {"FERROMIX_RECOMPUTE": "0"},
    "as it comes": {},
    "`MXNET_BACKWARD_DO_MIRROR=1`": {"MXNET_BACKWARD_DO_MIRROR": "1"},
    "a budget": {"FERROMIX_MEMORY_BUDGET": "BUDGET"},
}
MODELS = {
    "lenet": (64, (1, 28, 28), 10, 5.9),
    "resnet20": (32, (3, 32, 32), 10, 25),
    "resnet18": (8, (3, 224, 224), 1000, 93),
    "resnet50": (8, (3, 224, 224), 1000, 361),
    "vgg11": (4, (3, 224, 224), 1000, 104),
}
"""Samples, shape, classes, and half of the megabytes that MXNet plans."""


def networks(names: list[str], rounds: int, peers: str) -> None:
    """The table of networks."""
    with open(peers, encoding="utf-8") as file:
        text = file.read()
    body = text[text.index("def sym_net(S):") : text.index("def run_mx():")]
    print("| model, batch | results | MB | ms | time |\n|---|---|---|---|---|")
    for name in names:
        batch, shape, classes, budget = MODELS[name]
        space: dict[str, Any] = {"a": argparse.Namespace(model=name), "CLASSES": classes}
        exec(body, space)
        net = space["sym_net"](S)
        shapes = {"data": (batch, *shape), "softmax_label": (batch,)}
        executors = []
        for settings in SETTINGS.values():
            env = {k: v.replace("BUDGET", str(budget)) for k, v in settings.items()}
            executors.append(bound(net, env, "write", shapes))

        def run(executor: Any) -> None:
            executor.forward(is_train=True)
            executor.backward()

        times = in_turn([lambda e=e: run(e) for e in executors], rounds)
        for what, executor, ms in zip(SETTINGS, executors, times, strict=True):
            planned = executor.memory_planned()
            print(f"| {name}, {batch} | {what} | {planned:.1f} | {ms:.1f} | {ms / times[0]:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--peers", help="the file with the networks, train_peers.py")
    given = parser.parse_args()
    if given.peers:
        networks(given.models.split(","), given.rounds, given.peers)
    else:
        chains(given.rounds)


if __name__ == "__main__":
    sys.exit(main())
