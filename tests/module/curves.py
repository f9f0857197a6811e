"""Trainings on digits that Ferromix and MXNet do alike, from the same weights in the same order."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

BATCH = 32
TRAINED = 8000
"""So many images, the first ones, are there to train with; the others test."""

OPTIMIZER = {"momentum": 0.875, "wd": 1 / 8192}
"""Numbers that float32 holds, as rates do: MXNet rounds them to it for float64, too."""


def images(folder: Path, size: int) -> tuple[np.ndarray, np.ndarray]:
    """MNIST's test images with zeros around, from 0 to 1, and their labels."""
    with gzip.open(folder / "mnist" / "t10k-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28) / 255
    with gzip.open(folder / "mnist" / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    around = (size - 28) // 2
    return np.pad(pixels, [(0, 0), (0, 0), (around, around), (around, around)]), labels


def lenet(mx: Any) -> Any:
    x = mx.sym.Variable("data")
    for name, filters in (("conv1", 20), ("conv2", 50)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=name)
        x = mx.sym.Activation(x, act_type="tanh")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def resnet20(mx: Any) -> Any:
    def convolution(x: Any, name: str, filters: int, stride: int = 1, kernel: int = 3) -> Any:
        window = {"kernel": (kernel, kernel), "stride": (stride, stride)}
        pad = (kernel // 2, kernel // 2)
        x = mx.sym.Convolution(
            x, num_filter=filters, pad=pad, no_bias=True, name=f"{name}_conv", **window
        )
        return mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.875, name=f"{name}_bn")

    def relu(x: Any) -> Any:
        return mx.sym.Activation(x, act_type="relu")

    x = relu(convolution(mx.sym.Variable("data"), "stem", 16))
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(3):
            name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
            y = relu(convolution(x, f"{name}_a", filters, stride))
            y = convolution(y, f"{name}_b", filters)
            shortcut = convolution(x, f"{name}_c", filters, stride, 1) if stride > 1 else x
            x = relu(y + shortcut)
    x = mx.sym.Pooling(x, global_pool=True, kernel=(8, 8), pool_type="avg")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax")


NETWORKS = {"lenet": (lenet, 28, 1 / 64), "resnet20": (resnet20, 32, 1 / 16)}
"""Each with the size of its images and the rate that it begins with."""


RUNS = 5
"""So many trainings, whose weights begin as far apart as rounding to float32 puts them."""


def first_values(name: str, shape: tuple[int, ...], run: int = 0) -> np.ndarray:
    """Weights from a seed that follows from the name, in each run some 2**-23 larger than in the
    one before; others as usual.
    """
    if name.endswith("weight"):
        drawn = np.random.RandomState(crc32(name.encode())).standard_normal(shape)
        return drawn * np.sqrt(2 / np.prod(shape[1:])) * (1 + run * 2.0**-23)
    if name.endswith("b_bn_gamma"):  # a branch begins small, so that rounding stays small, too
        return np.full(shape, 0.125)
    return np.full(shape, 1.0 if name.endswith(("gamma", "var")) else 0.0)


def iterator(mx: Any, pixels: np.ndarray, labels: np.ndarray, dtype: str) -> Any:
    data, label = (mx.nd.array(part, dtype=dtype) for part in (pixels, labels))
    return mx.io.NDArrayIter(data, label, BATCH, label_name="softmax_label")


def curve(
    mx: Any,
    folder: Path,
    network: str,
    dtype: str,
    steps: int,
    run: int = 0,
    tested: bool = True,
) -> tuple[list[float], float]:
    """The losses of the first steps of training, and the accuracy after them, by Module.fit."""
    make, size, rate = NETWORKS[network]
    net = make(mx)
    pixels, labels = images(folder, size)
    each = min(TRAINED, steps * BATCH)
    epochs = steps * BATCH // each
    trained = iterator(mx, pixels[:each], labels[:each], dtype)
    falls = [steps // 2, steps * 3 // 4, steps * 9 // 10] if steps * BATCH >= TRAINED else []
    scheduler = mx.lr_scheduler.MultiFactorScheduler(falls, 0.25, base_lr=rate) if falls else None
    shapes, _, aux_shapes = net.infer_shape(data=(BATCH, 1, size, size))
    args, auxs = (
        {n: mx.nd.array(first_values(n, s, run), dtype=dtype) for n, s in zip(names, found)}
        for names, found in (
            (net.list_arguments(), shapes),
            (net.list_auxiliary_states(), aux_shapes),
        )
    )
    for name in ("data", "softmax_label"):
        del args[name]
    losses: list[float] = []

    def loss(label: np.ndarray, predicted: np.ndarray) -> float:
        right = predicted[np.arange(len(label)), label.astype(int)]
        losses.append(float(-np.log(right.astype("float64")).mean()))
        return losses[-1]

    module = mx.mod.Module(net, context=mx.cpu())
    module.fit(
        trained,
        # MXNet's BatchNorm changes its states in a backward pass that nobody waits for.
        batch_end_callback=lambda _: mx.nd.waitall(),
        eval_metric=mx.metric.CustomMetric(loss),
        optimizer="sgd",
        optimizer_params={**OPTIMIZER, "learning_rate": rate, "lr_scheduler": scheduler},
        arg_params=args,
        aux_params=auxs,
        num_epoch=epochs,
    )
    if not tested:
        return losses, float("nan")
    rest = iterator(mx, pixels[TRAINED:], labels[TRAINED:], dtype)
    predicted = module.predict(rest).asnumpy().argmax(axis=1)
    return losses, float((predicted == labels[TRAINED:]).mean())
