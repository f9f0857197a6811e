"""Networks in bfloat16 beside the same in single precision: accuracy on digits and time.

    python benches/bfloat16.py [--networks NAME ...] [--batch N] [--rounds N] [--data FOLDER]

Both are bound for inference in one process and take turns. FOLDER has ``mnist/`` with the test
images in idx format: the small network of ``eight_bits.py`` is trained in single precision, and its
weights are rounded to bfloat16. Started by ``taskset -c 1``, all runs on one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from builders import bound
from eight_bits import SMALL, accuracy, network, trained
from eight_bits import bound as bound_to
from zoo import NETWORKS

import ferromix as mx
from digits import images

LISTED = ["resnet50", "resnet18", "vgg11", "mlp"]
TYPES = ("float32", "bfloat16")


def times(executors: list[Any], rounds: int) -> list[list[float]]:
    """Milliseconds of passes of each, in turns."""
    found: list[list[float]] = [[] for _ in executors]
    for _ in range(rounds + 1):
        for executor, taken in zip(executors, found):
            start = time.perf_counter()
            executor.forward()
            mx.nd.waitall()
            taken.append((time.perf_counter() - start) * 1e3)
    return [taken[1:] for taken in found]


def largest_difference(executors: list[Any]) -> float:
    """Between the outputs, as a part of the largest one."""
    first, second = (e.outputs[0].astype("float32").asnumpy() for e in executors)
    return float(np.abs(first - second).max() / np.abs(first).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--networks", nargs="*", default=LISTED, choices=list(NETWORKS))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--data", type=Path, help="a folder with mnist/")
    options = parser.parse_args()
    print("| network | float32, ms | bfloat16, ms | ratio of medians, of minima | difference |")
    print("|---|---|---|---|---|")
    for name in options.networks:
        both = [bound(mx, name, options.batch, False, dtype)[0] for dtype in TYPES]
        found = times(both, options.rounds)
        single, half = (statistics.median(taken) for taken in found)
        least = min(found[0]) / min(found[1])
        ratio = f"{single / half:.2f}, {least:.2f}"
        far = largest_difference(both)
        print(f"| {name} | {single:.2f} | {half:.2f} | {ratio} | {far:.4f} |", flush=True)
    if options.data:
        pixels, labels = images(options.data)
        args = trained(pixels[:8000], labels[:8000])
        for dtype in TYPES:
            given = {n: value.astype(dtype) for n, value in args.items()}
            first = mx.nd.array(pixels[:64], dtype=dtype)
            executor = bound_to(network(SMALL), given, first)
            right = accuracy(executor, pixels[8000:], labels[8000:])
            print(f"accuracy in {dtype}: {right:.2%}")


if __name__ == "__main__":
    main()
