"""Binding, and what else is done with large graphs, beside MXNet's, in turns within one run; prints
Markdown.

usage: python benches/bind.py [--mxnet PYTHON] [--rounds N] [--nodes N]

PYTHON is an interpreter whose environment has MXNet 1.9.1; without it only Ferromix is measured.
Figures are milliseconds of the thread that binds, the best of all rounds, each of which is a
process of its own: "bound" is the first time that such a network is bound there, and "bound again"
is an equal graph, made anew. All graphs are bound for training.
"""

from __future__ import annotations

import argparse
import copy
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograd import run
from train import conv_bn, relu

LENGTH = 50
WARM = 20


def chain(mx: Any, nodes: int) -> Any:
    """Elementwise operators, one after another."""
    y = mx.sym.Variable("data")
    for i in range(nodes // 3):
        y = mx.sym.relu(y * 2 + 1, name=f"relu{i}")
    return y


def lstm(mx: Any, length: int) -> Any:
    """A language model of so many steps."""
    stack = mx.rnn.SequentialRNNCell()
    for layer in range(2):
        stack.add(mx.rnn.LSTMCell(num_hidden=16, prefix=f"lstm{layer}_"))
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=50, output_dim=16, name="embed")
    outputs, _ = stack.unroll(length, inputs=words, merge_outputs=True)
    flat = mx.sym.Reshape(outputs, shape=(-1, 16))
    scores = mx.sym.FullyConnected(flat, num_hidden=50, name="scores")
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(scores, label, name="softmax")


def resnet50(mx: Any) -> Any:
    """Of an eighth of the published width."""
    sym, last = mx.sym, 8
    x = relu(sym, conv_bn(sym, sym.Variable("data"), last, 7, 2, "stem"))
    for stage, units in enumerate((3, 4, 6, 3)):
        for unit in range(units):
            name, filters = f"s{stage}u{unit}", 32 << stage
            stride = 2 if unit == 0 and stage > 0 else 1
            y = relu(sym, conv_bn(sym, x, filters // 4, 1, 1, f"{name}a"))
            y = relu(sym, conv_bn(sym, y, filters // 4, 3, stride, f"{name}b"))
            y = conv_bn(sym, y, filters, 1, 1, f"{name}c")
            x = x if filters == last else conv_bn(sym, x, filters, 1, stride, f"{name}s")
            x, last = relu(sym, y + x), filters
    x = sym.Flatten(sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))
    return sym.FullyConnected(x, num_hidden=1000, name="fc")


def densenet(mx: Any) -> Any:
    """Three blocks of 16 layers, each of which reads all before it."""
    x = conv_bn(mx.sym, mx.sym.Variable("data"), 16, 3, 1, "stem")
    for block in range(3):
        for layer in range(16):
            y = conv_bn(mx.sym, relu(mx.sym, x), 8, 3, 1, f"b{block}l{layer}")
            x = mx.sym.Concat(x, y, dim=1)
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    return mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=10, name="fc")


def resident() -> int:
    """Kilobytes of this process in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of this thread, and what the work gives.

    Garbage is collected before, so that what earlier work left is not counted here.
    """
    gc.collect()
    start = time.thread_time()
    result = work()
    return (time.thread_time() - start) * 1e3, result


def measure_network(mx: Any, make: Callable[[], Any], shapes: dict[str, Any]) -> dict[str, float]:
    """Times to bind a network, an equal one, and to bind it to and fro."""
    nets = []
    for _ in range(2):
        # Names count from the beginning.
        with mx.name.NameManager():
            nets.append(make())
    (net, equal), found = nets, {}
    found["bound"], first = spent(lambda: net.simple_bind(mx.cpu(), grad_req="write", **shapes))
    found["bound again"], _ = spent(lambda: equal.simple_bind(mx.cpu(), grad_req="write", **shapes))
    smaller = {name: (shape[0] // 2, *shape[1:]) for name, shape in shapes.items()}
    there = first.reshape(**smaller)
    back = there.reshape(allow_up_sizing=True, **shapes)
    found["reshaped to a shape that was bound before"], _ = spent(lambda: back.reshape(**smaller))
    return found


def measure_buckets(mx: Any) -> dict[str, float]:
    """What it takes to go to a length that was not bound before, and to go on between two."""

    def graph(length: int) -> Any:
        return lstm(mx, length), ("data",), ("softmax_label",)

    def batch(length: int) -> Any:
        shape = (4, length)
        return mx.io.DataBatch(
            [mx.nd.zeros(shape)],
            [mx.nd.zeros(shape)],
            bucket_key=length,
            provide_data=[("data", shape)],
            provide_label=[("softmax_label", shape)],
        )

    module = mx.mod.BucketingModule(graph, default_bucket_key=LENGTH)
    first = batch(LENGTH)
    module.bind(first.provide_data, first.provide_label)
    module.init_params()
    new = LENGTH - 1
    batches = [batch(new), first] * 2
    times = [spent(lambda b=b: module.prepare(b))[0] for b in batches]
    return {"a new length": times[0], "back to a known one": min(times[1:])}


def measure_graph(mx: Any, nodes: int) -> dict[str, float]:
    """All figures of a long chain."""
    chain(mx, WARM).simple_bind(mx.cpu(), data=(4, 4), grad_req="write")
    net = chain(mx, nodes)
    before = resident()
    found = {}
    found["`simple_bind`"], executor = spent(
        lambda: net.simple_bind(mx.cpu(), data=(4, 4), grad_req="write")
    )
    memory = resident() - before
    found["`tojson`"], text = spent(net.tojson)
    found["`load_json`"], loaded = spent(lambda: mx.sym.load_json(text))
    found["`infer_shape`"], _ = spent(lambda: loaded.infer_shape(data=(4, 4)))
    found["`list_arguments`"], _ = spent(loaded.list_arguments)
    found["`copy.deepcopy`"], _ = spent(lambda: copy.deepcopy(loaded))
    start = time.perf_counter()
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 4)))
    mx.nd.waitall()
    found["the first pass, forward and backward, by the clock"] = (
        time.perf_counter() - start
    ) * 1e3
    found["kilobytes for each node, bound"] = memory / nodes
    return found


def measure(mx: Any, nodes: int) -> dict[str, float]:
    """All figures of one package."""
    networks = {
        "resnet50": (lambda: resnet50(mx), (2, 3, 64, 64)),
        "densenet": (lambda: densenet(mx), (2, 3, 32, 32)),
        f"lstm of {LENGTH} steps": (lambda: lstm(mx, LENGTH), (4, LENGTH)),
    }
    found = {}
    for name, (make, shape) in networks.items():
        shapes = {"data": shape} | ({"softmax_label": shape} if "lstm" in name else {})
        for what, value in measure_network(mx, make, shapes).items():
            found[f"{name}: {what}"] = value
    for what, value in measure_buckets(mx).items():
        found[f"`BucketingModule`: {what}"] = value
    for what, value in measure_graph(mx, nodes).items():
        found[f"chain of {nodes:,}: {what}"] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mxnet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=15000)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        package, _, nodes = options.measure.partition(":")
        print(json.dumps(measure(importlib.import_module(package), int(nodes))))
        return
    pythons = {"ferromix": sys.executable}
    if options.mxnet:
        pythons["mxnet"] = options.mxnet
    rounds = [
        {p: run(python, f"{p}:{options.nodes}", __file__) for p, python in pythons.items()}
        for _ in range(options.rounds)
    ]
    print("| milliseconds | " + " | ".join(pythons) + " |\n|" + "---|" * (len(pythons) + 1))
    for what in rounds[0]["ferromix"]:
        cells = [f"{min(r[p][what] for r in rounds):.2f}" for p in pythons]
        print(f"| {what} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
