"""Train a perceptron with ``simple_bind`` and an updater, without a key-value store.

``Symbol.simple_bind`` infers all shapes from that of the data and allocates every array. An
updater then applies the optimizer to each parameter in turn. The weights start very small and the
gradient is nearly flat there, so the accuracy waits for some epochs before it rises.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import digits
import ferromix as mx


def perceptron() -> mx.Symbol:
    """Layers of 128, 64 and 10."""
    x = mx.sym.Variable("data")
    x = mx.sym.FullyConnected(x, num_hidden=128, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="relu1")
    x = mx.sym.FullyConnected(x, num_hidden=64, name="fc2")
    x = mx.sym.Activation(x, act_type="relu", name="relu2")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def main() -> None:
    """Trains, telling both accuracies after each epoch."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    digits.add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("digits-run"), metavar="DIR")
    args = parser.parse_args()

    mx.random.seed(args.seed)
    found = digits.find(args.data, args.output)
    train, validation = digits.iterators(found, args.batch_size, flat=True, seed=args.seed)

    net = perceptron()
    executor = net.simple_bind(mx.cpu(), data=train.provide_data[0].shape)
    initializer = mx.init.Uniform(0.01)
    parameters = [n for n in net.list_arguments() if n not in ("data", "softmax_label")]
    for name in parameters:
        initializer(mx.init.InitDesc(name), executor.arg_dict[name])

    optimizer = mx.optimizer.create(
        "sgd",
        learning_rate=0.1,
        wd=1e-2,
        rescale_grad=1 / args.batch_size,
        param_idx2name=dict(enumerate(parameters)),
    )
    updater = mx.optimizer.get_updater(optimizer)
    for epoch in range(1, args.epochs + 1):
        accuracy = mx.metric.Accuracy()
        train.reset()
        for batch in train:
            executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
            executor.backward()
            for index, name in enumerate(parameters):
                updater(index, executor.grad_dict[name], executor.arg_dict[name])
            accuracy.update(batch.label, executor.outputs)
        print(
            f"epoch {epoch}: accuracy {accuracy.get()[1]:.4f} training, "
            f"{digits.score(executor, validation):.4f} held out",
            flush=True,
        )


if __name__ == "__main__":
    main()
