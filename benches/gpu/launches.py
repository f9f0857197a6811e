"""What it costs to launch: small operations one by one, and a chain of them bound or captured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from .packages import Package
from .table import Line
from .timing import Call, Clock, enqueued

SIDE, LENGTH = 16, 20
FEW = {"large": (100, 20), "small": (5, 1)}
"""How often in a row, which the engine takes without waiting, and how many rounds."""


def lines(size: str, found: dict[str, Package], clock: Clock) -> Iterator[Line]:
    """Microseconds until the calls have returned, and until the GPU is done."""
    kinds = (
        ("a + b", {"ferromix": add, "torch": add, "cupy": add}),
        (
            f"{LENGTH} operators, one by one",
            {"ferromix": ferromix_chain, "torch": torch_chain, "cupy": cupy_chain},
        ),
        (
            f"{LENGTH} operators, replayed as a graph",
            {"ferromix": ferromix_bound, "torch": torch_graph, "cupy": cupy_graph},
        ),
    )
    for what, makers in kinds:
        seen = {}
        for name, package in found.items():
            took = clock.attempt(what, name, lambda m=makers[name], p=package: run(m, p, size))
            if took is not None:
                seen[name] = took
        yield from pair(what, seen)
    took = clock.attempt("without graphs", "ferromix", lambda: without_graphs(size))
    if took is not None:
        yield from pair(f"{LENGTH} operators, bound, FERROMIX_GPU_GRAPHS=0", {"ferromix": took})


def pair(what: str, seen: dict[str, tuple[float, float]]) -> Iterator[Line]:
    for i, until in enumerate(("host", "done")):
        values = {name: 1e6 * took[i] for name, took in seen.items()}
        yield Line(f"{what}: {until}", "float32", "µs", values, less_is_more=True)


def run(maker: Any, package: Package, size: str) -> tuple[float, float]:
    array = package.array(np.ones((SIDE, SIDE), np.float32))
    return enqueued(maker(package.module, array), package, *FEW[size])


def without_graphs(size: str) -> tuple[float, float]:
    """The bound chain in a process that captures nothing: the setting is read once."""
    command = [sys.executable, "-m", "benches.gpu", "--chain", "--sizes", size]
    environment = {**os.environ, "FERROMIX_GPU_GRAPHS": "0"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    host, ready = json.loads(done.stdout.splitlines()[-1])
    return host, ready


def add(module: Any, x: Any) -> Call:
    return lambda: x + x


def ferromix_chain(mx: Any, x: Any) -> Call:
    def call() -> None:
        y = x
        for _ in range(LENGTH // 2):
            y = mx.nd.relu(y + 1)

    return call


def torch_chain(torch: Any, x: Any) -> Call:
    def call() -> None:
        y = x
        for _ in range(LENGTH // 2):
            y = torch.relu(y + 1)

    return call


def cupy_chain(cupy: Any, x: Any) -> Call:
    def call() -> None:
        y = x
        for _ in range(LENGTH // 2):
            y = cupy.maximum(y + 1, 0)

    return call


def ferromix_bound(mx: Any, x: Any) -> Call:
    y = mx.sym.Variable("x")
    for _ in range(LENGTH // 2):
        y = mx.sym.relu(y + 1)
    executor = y.bind(mx.gpu(0), {"x": x})
    return lambda: executor.forward(is_train=False)


def torch_graph(torch: Any, x: Any) -> Call:
    call = torch_chain(torch, x)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def cupy_graph(cupy: Any, x: Any) -> Call:
    stream = cupy.cuda.Stream(non_blocking=True)

    def call() -> None:
        for _ in range(LENGTH // 2):
            cupy.add(x, 1, out=x)
            cupy.maximum(x, 0, out=x)

    call()
    cupy.cuda.Device(0).synchronize()
    with stream:
        stream.begin_capture()
        call()
        graph = stream.end_capture()
    return lambda: graph.launch(stream)
