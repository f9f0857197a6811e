"""Operators that order and index, beside NumPy and MXNet.

    python benches/indexing.py [--peer PYTHON] [--only WORD]

PYTHON is an interpreter with MXNet 1.9.1 (and NumPy before 1.24), which runs the same in a process
of its own, in turns with this one. Times are medians of a call until its result is there; NumPy's
are taken in the process of Ferromix.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 3
Call = Callable[[], Any]


def library() -> Any:
    """Ferromix, or MXNet where that is what the interpreter has."""
    try:
        import ferromix as mx
    except ImportError:
        import mxnet as mx
    return mx


def median(call: Call, repeats: int = 15) -> float:
    """Milliseconds that a call takes, of which short ones are repeated."""
    call()
    start = time.perf_counter()
    call()
    times = 1 + int(2e-3 / (time.perf_counter() - start))
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(times):
            call()
        found.append((time.perf_counter() - start) / times)
    return 1e3 * statistics.median(found)


def calls(mx: Any) -> dict[str, tuple[Call, Call]]:
    """What each row calls: the library's function, and NumPy's."""
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Call, Call]] = {}
    for shape in ((1000, 1000), (100_000, 10), (10, 100_000), (100, 32)):
        _add_order(mx, rng.normal(size=shape).astype("float32"), found)
    for rows, width, count in ((100_000, 64, 50_000), (1000, 1000, 500), (1_000_000, 1, 100_000)):
        table = rng.normal(size=(rows, width)).astype("float32")
        _add_rows(mx, table, rng.integers(0, rows, count), found)
    for rows, width in ((10_000, 100), (100, 10)):
        _add_picks(mx, rng.normal(size=(rows, width)).astype("float32"), rng, found)
    return found


def _add_order(mx: Any, values: np.ndarray, found: dict[str, tuple[Call, Call]]) -> None:
    x, k, name = mx.nd.array(values), 10, str(values.shape)

    def best() -> np.ndarray:
        largest = np.argpartition(-values, k - 1, axis=-1)[:, :k]
        order = np.argsort(-np.take_along_axis(values, largest, -1), axis=-1)
        return np.take_along_axis(largest, order, -1)

    found[f"topk {name}"] = (lambda: mx.nd.topk(x, k=min(k, x.shape[-1])).wait_to_read(), best)
    found[f"sort {name}"] = (lambda: mx.nd.sort(x).wait_to_read(), lambda: np.sort(values))
    found[f"argsort {name}"] = (
        lambda: mx.nd.argsort(x).wait_to_read(),
        lambda: np.argsort(values, kind="stable"),
    )


def _add_rows(
    mx: Any, table: np.ndarray, ids: np.ndarray, found: dict[str, tuple[Call, Call]]
) -> None:
    rows, width = table.shape
    name = f"{len(ids)} of {table.shape}"
    x = mx.nd.array(table)
    for dtype in ("float32", "int32"):
        wanted = mx.nd.array(ids, dtype=dtype)
        found[f"take {name}, {dtype}"] = (
            lambda wanted=wanted: mx.nd.take(x, wanted).wait_to_read(),
            lambda: np.take(table, ids, axis=0),
        )
    whole = mx.nd.array(ids, dtype="int32")
    sizes = {"input_dim": rows, "output_dim": width}
    found[f"Embedding {name}"] = (
        lambda: mx.nd.Embedding(whole, x, **sizes).wait_to_read(),
        lambda: table[ids],
    )
    weight, grad = x.copy(), mx.nd.ones((len(ids), width))
    weight.attach_grad()
    with mx.autograd.record():
        out = mx.nd.Embedding(whole, weight, **sizes)

    def back() -> None:
        out.backward(grad, retain_graph=True)
        weight.grad.wait_to_read()

    given, sums = np.ones((len(ids), width), "float32"), np.zeros_like(table)

    def added() -> None:
        sums.fill(0)
        np.add.at(sums, ids, given)

    found[f"Embedding {name}, gradient"] = (back, added)


def _add_picks(
    mx: Any, values: np.ndarray, rng: np.random.Generator, found: dict[str, tuple[Call, Call]]
) -> None:
    rows, width = values.shape
    name, ids = str(values.shape), rng.integers(0, width, rows)
    x, wanted, every = mx.nd.array(values), mx.nd.array(ids), np.arange(rows)
    pairs = mx.nd.array(np.stack([every, ids]))
    found[f"pick {name}"] = (
        lambda: mx.nd.pick(x, wanted).wait_to_read(),
        lambda: values[every, ids],
    )
    found[f"gather_nd {name}"] = (
        lambda: mx.nd.gather_nd(x, pairs).wait_to_read(),
        lambda: values[every, ids],
    )

    def hot() -> np.ndarray:
        made = np.zeros((rows, width), "float32")
        made[every, ids] = 1
        return made

    found[f"one_hot {name}"] = (lambda: mx.nd.one_hot(wanted, width).wait_to_read(), hot)


def measure(only: str) -> dict[str, list[float]]:
    """All times of this interpreter's library, and of NumPy beside Ferromix."""
    mx = library()
    own = mx.__name__ == "ferromix"
    chosen = {name: pair for name, pair in calls(mx).items() if only in name}
    return {n: [median(f) for f in pair[: 2 if own else 1]] for n, pair in chosen.items()}


def main() -> None:
    """Prints a table: Ferromix, NumPy, MXNet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="an interpreter with MXNet")
    parser.add_argument("--only", default="", help="rows with this word")
    parser.add_argument("--child", action="store_true", help="only print the times")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.only)))
        return
    peers = [sys.executable, *([options.peer] if options.peer else [])]
    runs: list[list[dict[str, list[float]]]] = [[] for _ in peers]
    for _ in range(ROUNDS if options.peer else 1):
        for peer, found in zip(peers, runs, strict=True):
            command = [peer, __file__, "--child", "--only", options.only]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found.append(json.loads(text.splitlines()[-1]))
    for name in runs[0][0]:
        columns = [statistics.median(t) for found in runs for t in zip(*(r[name] for r in found))]
        slow = "" if columns[0] <= min(columns[1:]) else "  *"
        print(f"{name:44}", *(f"{c:10.4f} ms" for c in columns), slow, flush=True)


if __name__ == "__main__":
    main()
