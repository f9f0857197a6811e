"""Sparse arrays: products beside SciPy, and the training of a linear model, beside MXNet.

    python benches/sparse.py [--peer PYTHON]

PYTHON is an interpreter with MXNet 1.9.1 (and NumPy before 1.24), which runs the same in a process
of its own, in turns with this one. The data of the model is a text in the format of LibSVM, made by
the bench. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROUNDS = 3
PRODUCTS = [
    (20_000, 50_000, 1, 0.001),
    (20_000, 50_000, 2, 0.001),
    (20_000, 50_000, 8, 0.001),
    (20_000, 50_000, 16, 0.001),
    (5_000, 20_000, 128, 0.002),
    (2_000, 2_000, 64, 0.05),
]
SAMPLES, FEATURES, STORED, BATCH = 8_000, 100_000, 60, 500


def library() -> Any:
    """Ferromix, or MXNet where that is what the interpreter has."""
    try:
        import ferromix as mx
    except ImportError:
        import mxnet as mx
    return mx


def median(call: Callable[[], Any], repeats: int = 7) -> float:
    """Seconds that a call takes."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def products(mx: Any, with_scipy: bool) -> dict[str, float]:
    """Milliseconds of products of a csr matrix, or its transpose, and a dense one."""
    found = {}
    for sizes in PRODUCTS:
        found.update(product(mx, with_scipy, *sizes))
    return found


def random(rows: int, columns: int, density: float) -> sp.csr_matrix:
    """A matrix whose rows have equally many elements, but for those that meet."""
    rng = np.random.default_rng(0)
    count = max(round(columns * density), 1)
    places = rng.integers(0, columns, rows * count)
    parts = (rng.random(rows * count, "float32"), places, np.arange(0, rows * count + 1, count))
    matrix = sp.csr_matrix(parts, shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def product(mx: Any, with_scipy: bool, m: int, k: int, n: int, density: float) -> dict[str, float]:
    """Milliseconds of the products of one size."""
    matrix = random(m, k, density)
    right = np.random.default_rng(0).normal(size=(k, n)).astype("float32")
    other = np.random.default_rng(0).normal(size=(m, n)).astype("float32")
    csr = mx.nd.sparse.csr_matrix(matrix, dtype="float32")
    dense, rows = mx.nd.array(right), mx.nd.array(other)
    plain = f"({m}, {k}) x ({k}, {n}), {matrix.nnz} stored"
    back = f"transposed {plain}"
    found = {
        plain: median(lambda: mx.nd.dot(csr, dense).wait_to_read()),
        back: median(lambda: mx.nd.dot(csr, rows, transpose_a=True).wait_to_read()),
        f"{back}, dense": median(
            lambda: mx.nd.dot(csr, rows, transpose_a=True, forward_stype="default").wait_to_read()
        ),
    }
    if with_scipy:
        found[f"SciPy: {plain}"] = median(lambda: matrix @ right)
        found[f"SciPy: {back}"] = median(lambda: matrix.T @ other)
    return {name: 1e3 * seconds for name, seconds in found.items()}


def write_text(path: Path) -> None:
    """Writes samples in the format of LibSVM."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=FEATURES)
    with path.open("w") as file:
        for _ in range(SAMPLES):
            columns = np.unique(rng.integers(0, FEATURES, STORED) ** 2 // FEATURES)
            values = rng.random(len(columns)).round(4)
            label = int(values @ truth[columns] > 0)
            pairs = " ".join(f"{c}:{v}" for c, v in zip(columns, values, strict=True))
            file.write(f"{label} {pairs}\n")


def read_text(path: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    """The samples of a text in the format of LibSVM."""
    labels, columns, values, offsets = [], [], [], [0]
    with path.open() as file:
        for line in file:
            label, *pairs = line.split()
            labels.append(float(label))
            for pair in pairs:
                column, value = pair.split(":")
                columns.append(int(column))
                values.append(float(value))
            offsets.append(len(columns))
    parts = (np.array(values, "float32"), np.array(columns), np.array(offsets))
    return sp.csr_matrix(parts, shape=(len(labels), FEATURES)), np.array(labels, "float32")


def training(mx: Any, path: Path) -> dict[str, float]:
    """Milliseconds of an epoch of logistic regression, by autograd and by an executor."""
    matrix, labels = read_text(path)
    batches = [
        (
            mx.nd.sparse.csr_matrix(matrix[i : i + BATCH], dtype="float32"),
            mx.nd.array(labels[i : i + BATCH]).reshape((-1, 1)),
        )
        for i in range(0, SAMPLES, BATCH)
    ]
    found = {}
    kinds = {
        "sgd": {"learning_rate": 0.5},
        "adagrad": {"learning_rate": 0.5},
        "adam": {"learning_rate": 0.01},
    }
    for kind, attrs in kinds.items():
        for run in (imperative, bound):
            found[f"{kind}, {run.__name__}"] = 1e3 * run(mx, batches, kind, attrs)
    return found


def imperative(mx: Any, batches: list[Any], kind: str, attrs: dict[str, float]) -> float:
    """Seconds of an epoch that is recorded."""
    weight = mx.nd.zeros((FEATURES, 1))
    weight.attach_grad(stype="row_sparse")
    optimizer = mx.optimizer.create(kind, rescale_grad=1 / BATCH, **attrs)
    state = optimizer.create_state(0, weight)

    def epoch() -> None:
        for data, label in batches:
            with mx.autograd.record():
                out = mx.nd.LogisticRegressionOutput(mx.nd.dot(data, weight), label)
            out.backward()
            optimizer.update(0, weight, weight.grad, state)
        weight.wait_to_read()

    return median(epoch, 5)


def bound(mx: Any, batches: list[Any], kind: str, attrs: dict[str, float]) -> float:
    """Seconds of an epoch of a bound graph."""
    data, weight = mx.sym.var("data", stype="csr"), mx.sym.var("weight", stype="row_sparse")
    graph = mx.sym.LogisticRegressionOutput(mx.sym.sparse.dot(data, weight), mx.sym.var("label"))
    shapes = {"data": (BATCH, FEATURES), "weight": (FEATURES, 1), "label": (BATCH, 1)}
    requests = {"data": "null", "weight": "write", "label": "null"}
    executor = graph.simple_bind(mx.cpu(), grad_req=requests, **shapes)
    own, grad = executor.arg_dict["weight"], executor.grad_dict["weight"]
    own[:] = mx.nd.zeros(own.shape) + 0.001
    optimizer = mx.optimizer.create(kind, rescale_grad=1 / BATCH, **attrs)
    state = optimizer.create_state(0, own)

    def epoch() -> None:
        for batch, label in batches:
            executor.forward(is_train=True, data=batch, label=label)
            executor.backward()
            optimizer.update(0, own, grad, state)
        own.wait_to_read()

    return median(epoch, 5)


def measure(path: Path) -> dict[str, float]:
    """All times of this interpreter's library."""
    mx = library()
    own = mx.__name__ == "ferromix"
    return {**products(mx, own), **training(mx, path)}


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="an interpreter with MXNet")
    parser.add_argument("--child", help="only print the times, for this file of samples")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(Path(options.child))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.txt"
        write_text(path)
        peers = [sys.executable, *([options.peer] if options.peer else [])]
        runs: list[list[dict[str, float]]] = [[] for _ in peers]
        for _ in range(ROUNDS if options.peer else 1):
            for peer, found in zip(peers, runs, strict=True):
                command = [peer, __file__, "--child", str(path)]
                text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found.append(json.loads(text.splitlines()[-1]))
    for name in runs[0][0]:
        columns = [statistics.median(r[name] for r in found) for found in runs if name in found[0]]
        print(f"{name:58}", *(f"{c:10.3f} ms" for c in columns))


if __name__ == "__main__":
    main()
