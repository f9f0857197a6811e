"""Bind a multilayer perceptron by hand: your arrays, your gradients, your update.

``Symbol.bind`` takes one array per argument, in the order of ``list_arguments()``, with a list of
arrays for the gradients and a list that says what to do with each. Nothing is hidden: the loop at
the end is all of gradient descent.

The data are made by hand. Sample i consists of 28 times the number i mod 10, and its class is
that number. All weights start alike, so the hidden units stay alike too, and ten lines in one
variable must tell ten classes apart: slow, but it works.
"""

from __future__ import annotations

import argparse

import numpy as np

import ferromix as mx

SAMPLES, FEATURES, HIDDEN, CLASSES = 128, 28, 512, 10


def perceptron() -> mx.Symbol:
    """Two fully connected layers with a leaky rectifier in between."""
    x = mx.sym.Variable("data")
    x = mx.sym.FullyConnected(x, num_hidden=HIDDEN, name="fc1")
    x = mx.sym.LeakyReLU(x, act_type="leaky", slope=0.25, name="leaky")
    x = mx.sym.FullyConnected(x, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def bind(net: mx.Symbol, constant: float) -> mx.Executor:
    """An executor over arrays made here, all in the order of ``list_arguments()``."""
    classes = np.arange(SAMPLES) % CLASSES
    values = {
        "data": np.repeat(classes[:, None], FEATURES, axis=1),
        "fc1_weight": np.full((HIDDEN, FEATURES), constant),
        "fc1_bias": np.zeros(HIDDEN),
        "fc2_weight": np.full((CLASSES, HIDDEN), constant),
        "fc2_bias": np.zeros(CLASSES),
        "softmax_label": classes,
    }
    names = net.list_arguments()
    arguments = [mx.nd.array(values[name]) for name in names]
    requests = ["null" if name in ("data", "softmax_label") else "write" for name in names]
    gradients = [
        mx.nd.zeros(argument.shape) if request == "write" else None
        for argument, request in zip(arguments, requests, strict=True)
    ]
    return net.bind(mx.cpu(), arguments, args_grad=gradients, grad_req=requests)


def main() -> None:
    """Descends the gradient, telling loss and accuracy ten times on the way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--constant", type=float, default=0.01, help="where all weights start")
    args = parser.parse_args()

    net = perceptron()
    executor = bind(net, args.constant)
    label = executor.arg_dict["softmax_label"]
    metric = mx.metric.create(["ce", "acc"])
    for step in range(args.steps + 1):
        executor.forward(is_train=True)
        if step % max(1, args.steps // 10) == 0:
            metric.reset()
            metric.update([label], executor.outputs)
            print(f"step {step}:", *(f"{n} {v:.4f}" for n, v in metric.get_name_value()))
        executor.backward()
        for weight, gradient in zip(executor.arg_arrays, executor.grad_arrays, strict=True):
            if gradient is not None:
                weight -= args.lr * gradient


if __name__ == "__main__":
    main()
