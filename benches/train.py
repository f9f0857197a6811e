"""Training and inference throughput of Ferromix beside MXNet, in turn and in one run.

usage: python benches/train.py [--mxnet PYTHON] [--models mlp lenet resnet20] [--rounds N]

PYTHON is an interpreter whose environment has MXNet 1.9.1 (`pip install mxnet==1.9.1
"numpy<1.24"`). Each measurement is a process of its own; the packages take turns, and the table
holds the median over the rounds. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

SHAPES = {"mlp": (784,), "lenet": (1, 28, 28), "resnet20": (3, 32, 32)}
BATCHES = {"mlp": 64, "lenet": 64, "resnet20": 32}
STEPS = {"mlp": 60, "lenet": 30, "resnet20": 12}


def relu(sym, x):
    return sym.Activation(x, act_type="relu")


def mlp(sym, x):
    for i, width in enumerate((512, 256)):
        x = relu(sym, sym.FullyConnected(x, num_hidden=width, name=f"fc{i}"))
    return sym.FullyConnected(x, num_hidden=10, name="fc_out")


def lenet(sym, x):
    for i, filters in enumerate((20, 50)):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = sym.Activation(x, act_type="tanh")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=500, name="fc0")
    return sym.FullyConnected(sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc_out")


def conv_bn(sym, x, filters, kernel, stride, name):
    x = sym.Convolution(
        x,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(kernel // 2, kernel // 2),
        num_filter=filters,
        no_bias=True,
        name=name,
    )
    return sym.BatchNorm(x, fix_gamma=False, eps=1e-5, momentum=0.9, name=f"{name}_bn")


def resnet20(sym, x):
    x = relu(sym, conv_bn(sym, x, 16, 3, 1, "stem"))
    for stage, filters in enumerate((16, 32, 64)):
        for unit in range(3):
            name, stride = f"s{stage}u{unit}", 2 if unit == 0 and stage > 0 else 1
            y = relu(sym, conv_bn(sym, x, filters, 3, stride, f"{name}a"))
            y = conv_bn(sym, y, filters, 3, 1, f"{name}b")
            if stride > 1:
                x = conv_bn(sym, x, filters, 1, stride, f"{name}s")
            x = relu(sym, x + y)
    x = sym.Flatten(sym.Pooling(x, kernel=(7, 7), global_pool=True, pool_type="avg"))
    return sym.FullyConnected(x, num_hidden=10, name="fc")


NETWORKS = {"mlp": mlp, "lenet": lenet, "resnet20": resnet20}


def measure(package: str, model: str, train: bool) -> float:
    """Samples per second of one package, in this process."""
    import importlib

    import numpy as np

    mx = importlib.import_module(package)
    batch, inputs = BATCHES[model], ("data", "softmax_label")
    net = NETWORKS[model](mx.sym, mx.sym.Variable("data"))
    net = mx.sym.SoftmaxOutput(net, normalization="batch", name="softmax")
    names = [n for n in net.list_arguments() if n not in inputs]
    req = {n: "null" if n in inputs else "write" for n in net.list_arguments()}
    executor = net.simple_bind(
        mx.cpu(),
        grad_req=req if train else "null",
        data=(batch, *SHAPES[model]),
        softmax_label=(batch,),
    )
    rng = np.random.RandomState(0)
    for name in names:
        executor.arg_dict[name][:] = rng.uniform(-0.05, 0.05, executor.arg_dict[name].shape)
    for name, array in executor.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0
    data = mx.nd.array(rng.uniform(-1, 1, (batch, *SHAPES[model])))
    label = mx.nd.array(rng.randint(0, 10, (batch,)))
    momentum = {n: mx.nd.zeros(executor.arg_dict[n].shape) for n in names}

    def step() -> None:
        executor.arg_dict["data"][:] = data
        executor.arg_dict["softmax_label"][:] = label
        executor.forward(is_train=train)
        if train:
            executor.backward()
            for n in names:
                weight = executor.arg_dict[n]
                mx.nd.sgd_mom_update(
                    weight,
                    executor.grad_dict[n],
                    momentum[n],
                    out=weight,
                    lr=1e-3,
                    momentum=0.9,
                    wd=1e-4,
                )
        mx.nd.waitall()
        executor.outputs[0].asnumpy()

    for _ in range(3):
        step()
    times = []
    for _ in range(STEPS[model]):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return batch / statistics.median(times)


def in_process(python: str, package: str, model: str, mode: str) -> float:
    command = [python, __file__, "--measure", package, model, mode]
    # Without site folders of another interpreter, and with MXNet's threads bound to the cores.
    env = {**os.environ, "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(pythons: dict[str, str], models: list[str], rounds: int) -> None:
    peers = [p for p in pythons if p != "ferromix"]
    head = ["model, batch", "mode", "Ferromix"] + [c for p in peers for c in (p, f"ratio to {p}")]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for model in models:
        for mode in ("train", "infer"):
            seen: dict[str, list[float]] = {p: [] for p in pythons}
            for _ in range(rounds):
                for package, python in pythons.items():
                    seen[package].append(in_process(python, package, model, mode))
            rate = {p: statistics.median(v) for p, v in seen.items()}
            cells = [f"{model}, {BATCHES[model]}", mode, f"{rate['ferromix']:,.0f}"]
            for peer in peers:
                cells += [f"{rate[peer]:,.0f}", f"{rate['ferromix'] / rate[peer]:.2f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mxnet", help="interpreter of an environment with MXNet 1.9.1")
    parser.add_argument("--models", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        package, model, mode = options.measure
        print(json.dumps(measure(package, model, mode == "train")))
        return
    pythons = {"ferromix": sys.executable}
    if options.mxnet:
        pythons["mxnet"] = options.mxnet
    table(pythons, options.models, options.rounds)


if __name__ == "__main__":
    main()
