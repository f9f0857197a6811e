"""Elementwise operators beside NumPy, in turns within one run: throughput from 1 KiB to 64 MiB.

Both write into arrays that exist already. A round of Ferromix ends when its result can be read; its
figures include the engine. ``--threads 1`` keeps its kernels to one thread; NumPy has one always.

Run: ``python benches/elementwise.py [--threads N] [--rounds N] [OPERATOR ...]``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

SIZES = {"1 KiB": 1 << 10, "32 KiB": 1 << 15, "1 MiB": 1 << 20, "64 MiB": 1 << 26}
UNARY: dict[str, Callable[..., np.ndarray]] = {
    "negative": np.negative,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "arctan": np.arctan,
    "expm1": np.expm1,
}
BINARY: dict[str, Callable[..., np.ndarray]] = {
    "broadcast_add": np.add,
    "broadcast_mul": np.multiply,
    "broadcast_div": np.divide,
    "broadcast_maximum": np.maximum,
    "broadcast_power": np.power,
}


def sigmoid(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The logistic function as one writes it in NumPy."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    return np.reciprocal(out, out=out)


UNARY["sigmoid"] = sigmoid


def best(run: Callable[[], object], rounds: int, size: int) -> float:
    """Seconds of the fastest of several rounds, each of several calls."""
    calls = max(1, (1 << 21) // size)
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        found = min(found, (time.perf_counter() - start) / calls)
    return found


def row(name: str, nbytes: int, rounds: int) -> tuple[float, float]:
    """Seconds of Ferromix and of NumPy."""
    import ferromix as mx

    count = 1 if name in UNARY else 2
    theirs = UNARY[name] if count == 1 else BINARY[name]
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(0.1, 3, nbytes // 4).astype("float32") for _ in range(count)]
    out = np.empty_like(inputs[0])
    arrays, result = [mx.nd.array(x) for x in inputs], mx.nd.array(out)
    operator = getattr(mx.nd, name)

    def ours() -> None:
        operator(*arrays, out=result)
        result.wait_to_read()

    np.testing.assert_allclose(operator(*arrays).asnumpy(), theirs(*inputs, out=out), rtol=1e-5)
    turns = [
        (best(ours, 1, nbytes), best(lambda: theirs(*inputs, out=out), 1, nbytes))
        for _ in range(rounds)
    ]
    return min(t[0] for t in turns), min(t[1] for t in turns)


def main() -> None:
    """Prints one table: elements per nanosecond of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("operators", nargs="*", default=[*UNARY, *BINARY])
    args = parser.parse_args()
    if args.threads:
        os.environ["FERROMIX_NUM_THREADS"] = str(args.threads)
    print(f"load average {os.getloadavg()[0]:.1f}; float32; elements per ns, Ferromix / NumPy")
    print("| operator | " + " | ".join(SIZES) + " |\n|---" * 1 + "|" + "---|" * len(SIZES))
    for name in args.operators:
        cells = []
        for nbytes in SIZES.values():
            ours, theirs = row(name, nbytes, args.rounds)
            count = nbytes / 4e9
            cells.append(f"{count / ours:.2f} / {count / theirs:.2f} = {theirs / ours:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
