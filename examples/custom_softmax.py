"""Train a perceptron on handwritten digits with a softmax loss of one's own, in Python.

The operator is that of MXNet's tutorial of ``CustomOp``: forward computes the softmax, backward
subtracts 1 from the probability of the label. Everything else, such as the layers before it, is
built in; the engine runs both, ordered by the arrays.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import digits
import ferromix as mx

HIDDEN, CLASSES = 128, 10


class Softmax(mx.operator.CustomOp):
    """The softmax of each row, and the gradient of its cross-entropy."""

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[Any],
        out_data: list[Any],
        aux: list[Any],
    ) -> None:
        """By NumPy, on a copy."""
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], y / y.sum(axis=1, keepdims=True))

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        """The probabilities, less 1 at the label."""
        label = in_data[1].asnumpy().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.size), label] -= 1
        self.assign(in_grad[0], req[0], y / label.size)


@mx.operator.register("my_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """Scores and labels; no gradient of the output is read."""

    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        """Data, and a label for each row."""
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> tuple[Any, ...]:
        """The labels' shape follows from that of the data."""
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Softmax:
        """An operator without a state."""
        return Softmax()


def perceptron() -> mx.Symbol:
    """One hidden layer, and the custom loss."""
    x = mx.sym.Flatten(mx.sym.Variable("data"))
    x = mx.sym.FullyConnected(x, num_hidden=HIDDEN, name="fc1")
    x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.FullyConnected(x, num_hidden=CLASSES, name="fc2")
    return mx.sym.Custom(data=x, op_type="my_softmax", name="softmax")


def accuracy(executor: mx.Executor, batches: Any) -> float:
    """The share of digits that are read rightly."""
    batches.reset()
    right = total = 0
    for batch in batches:
        scores = executor.forward(is_train=False, data=batch.data[0])[0].asnumpy()
        kept = len(scores) - batch.pad
        found, label = scores.argmax(axis=1), batch.label[0].asnumpy()
        right += int((found == label)[:kept].sum())
        total += kept
    return right / total


def main() -> None:
    """Descends the gradient, with the accuracy after each pass over the data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    digits.add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()

    found = digits.find(args.data, Path("digits-run"))
    train, held_out = (
        mx.io.MNISTIter(
            image=str(pair.images), label=str(pair.labels), batch_size=args.batch, shuffle=shuffle
        )
        for pair, shuffle in ((found.train, True), (found.validation, False))
    )
    shape = train.provide_data[0].shape
    requests = {
        name: "null" if name in ("data", "softmax_label") else "write"
        for name in perceptron().list_arguments()
    }
    executor = perceptron().simple_bind(mx.cpu(), data=shape, grad_req=requests)
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        if name.endswith("weight"):
            array[:] = rng.normal(scale=0.05, size=array.shape)
    for epoch in range(1, args.epochs + 1):
        train.reset()
        start = time.perf_counter()
        for batch in train:
            executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
            executor.backward()
            for name, gradient in executor.grad_dict.items():
                if gradient is not None:
                    executor.arg_dict[name][:] -= args.lr * gradient
        mx.nd.waitall()
        took = time.perf_counter() - start
        print(f"epoch {epoch}: {accuracy(executor, held_out):.4f} held out, {took:.1f} s")


if __name__ == "__main__":
    main()
