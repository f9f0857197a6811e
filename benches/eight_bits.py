"""A network in eight bits beside the same in single precision: accuracy on digits and time.

    python benches/eight_bits.py [--data FOLDER] [--rounds N]

FOLDER has ``mnist/`` with the test images in idx format; without it only times are taken. A small
network of convolutions is trained in single precision, its ranges are taken from images that it was
trained with, and it is written again in quantized operators. Both are bound for inference and take
turns; a wider network of the same form, with numbers drawn at random, is measured, too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import ferromix as mx
from digits import images

BATCH = 64
CALIBRATED = 512
"""Images that ranges are taken from."""
SMALL, WIDE = (32, 64), (128, 256)
"""Filters of the two convolutions."""


def network(filters: tuple[int, int]) -> Any:
    """Two convolutions and two dense layers, by names."""
    x = mx.sym.Variable("data")
    for i, count in enumerate(filters):
        x = mx.sym.Convolution(
            x, kernel=(3, 3), pad=(1, 1), num_filter=count, no_bias=True, name=f"conv{i}"
        )
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=128, no_bias=True, name="fc0")
    x = mx.sym.Activation(x, act_type="relu", name="relu2")
    return mx.sym.FullyConnected(x, num_hidden=10, no_bias=True, name="fc1")


LAYERS = ("conv0", "conv1", "fc0", "fc1")


def magnitudes(net: Any, args: dict[str, Any], pixels: np.ndarray) -> dict[str, float]:
    """The largest magnitude of what each layer gives."""
    inner = net.get_internals()
    outputs = mx.sym.Group([inner[f"{layer}_output"] for layer in LAYERS])
    executor = outputs.bind(mx.cpu(), {**args, "data": mx.nd.array(pixels)}, grad_req="null")
    return dict(zip(LAYERS, (float(a.abs().max().asscalar()) for a in executor.forward())))


def in_eight_bits(
    filters: tuple[int, int], args: dict[str, Any], ranges: dict[str, float]
) -> tuple[Any, dict[str, Any]]:
    """The network in quantized operators, and its arguments."""
    q = mx.sym.contrib
    given: dict[str, Any] = {}

    def weight(layer: str) -> list[Any]:
        found = mx.nd.contrib.quantize_v2(args[f"{layer}_weight"], out_type="int8")
        names = [f"{layer}_{part}" for part in ("weight", "low", "high")]
        given.update(zip(names, found))
        return [mx.sym.Variable(name) for name in names]

    def scaled(layer: str, x: Any) -> Any:
        most = ranges[layer]
        return q.requantize(*x, min_calib_range=-most, max_calib_range=most)

    x = q.quantize_v2(
        mx.sym.Variable("data"), out_type="int8", min_calib_range=-1.0, max_calib_range=1.0
    )
    for i, count in enumerate(filters):
        w, *ends = weight(f"conv{i}")
        sizes = {"kernel": (3, 3), "pad": (1, 1), "num_filter": count, "no_bias": True}
        x = scaled(f"conv{i}", q.quantized_conv(x[0], w, x[1], x[2], *ends, **sizes))
        x = q.quantized_act(*x, act_type="relu")
        x = q.quantized_pooling(*x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = q.quantized_flatten(*x)
    for i, count in enumerate((128, 10)):
        w, *ends = weight(f"fc{i}")
        sizes = {"num_hidden": count, "no_bias": True}
        x = q.quantized_fully_connected(x[0], w, x[1], x[2], *ends, **sizes)
        x = scaled(f"fc{i}", x)
        x = q.quantized_act(*x, act_type="relu") if i == 0 else x
    return q.dequantize(*x), given


def trained(pixels: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """The weights of the small network after two passes over the images."""
    mx.random.seed(0)
    net = mx.sym.SoftmaxOutput(network(SMALL), name="softmax")
    module = mx.mod.Module(net)
    module.fit(
        mx.io.NDArrayIter(pixels, labels, BATCH, shuffle=False, label_name="softmax_label"),
        num_epoch=2,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 1e-3},
    )
    return module.get_params()[0]


def drawn(filters: tuple[int, int], size: int) -> dict[str, Any]:
    """Weights for images of a size."""
    net = network(filters)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(BATCH, 1, size, size))[0]))
    rng = np.random.default_rng(0)
    made = {n: rng.normal(0, (2 / np.prod(s[1:])) ** 0.5, s) for n, s in shapes.items()}
    return {n: mx.nd.array(value, dtype="float32") for n, value in made.items() if n != "data"}


def bound(net: Any, args: dict[str, Any], pixels: np.ndarray) -> Any:
    return net.bind(mx.cpu(), {**args, "data": mx.nd.array(pixels)}, grad_req="null")


def accuracy(executor: Any, pixels: np.ndarray, labels: np.ndarray) -> float:
    right = 0
    for i in range(0, len(pixels) - BATCH + 1, BATCH):
        scores = executor.forward(data=mx.nd.array(pixels[i : i + BATCH]))[0].asnumpy()
        right += int((scores.argmax(1) == labels[i : i + BATCH]).sum())
    return right / (len(pixels) // BATCH * BATCH)


def times(executors: list[Any], rounds: int) -> list[float]:
    """Milliseconds of a pass of each, in turns."""
    found: list[list[float]] = [[] for _ in executors]
    for _ in range(rounds):
        for executor, taken in zip(executors, found):
            executor.forward()
            mx.nd.waitall()
            start = time.perf_counter()
            for _ in range(5):
                executor.forward()
            mx.nd.waitall()
            taken.append((time.perf_counter() - start) / 5 * 1e3)
    return [statistics.median(taken) for taken in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="a folder with mnist/")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print("| network | float32, ms | int8, ms | ratio |\n|---|---|---|---|")
    for name, filters in (("small", SMALL), ("wide", WIDE)):
        pixels = np.random.default_rng(1).uniform(0, 1, (BATCH, 1, 28, 28)).astype("float32")
        args = drawn(filters, 28)
        ranges = magnitudes(network(filters), args, pixels)
        other, given = in_eight_bits(filters, args, ranges)
        both = [bound(network(filters), args, pixels), bound(other, given, pixels)]
        single, eight = times(both, options.rounds)
        print(f"| {name}, {filters} | {single:.2f} | {eight:.2f} | {single / eight:.2f} |")
    if options.data:
        pixels, labels = images(options.data)
        args = trained(pixels[:8000], labels[:8000])
        other, given = in_eight_bits(
            SMALL, args, magnitudes(network(SMALL), args, pixels[:CALIBRATED])
        )
        rest = pixels[8000:], labels[8000:]
        first = pixels[:BATCH]
        for name, net, values in (("float32", network(SMALL), args), ("int8", other, given)):
            print(f"accuracy in {name}: {accuracy(bound(net, values, first), *rest):.2%}")


if __name__ == "__main__":
    main()
