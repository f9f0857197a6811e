"""Train LeNet, or a multilayer perceptron, to read handwritten digits.

The loop is written out, so that every part shows: a symbol describes the network, ``simple_bind``
makes an executor of it, a key-value store holds the parameters and applies the optimizer, an
iterator reads the images, metrics count. Run it as it is (about ten seconds)::

    python examples/train_digits.py

and score what it saved::

    python examples/train_digits.py --load digits-run/digits

On a GPU, with ``--gpu 0``. In several processes, each with a part of the images::

    python -m ferromix.launch -n 2 python examples/train_digits.py --kv-store dist_sync

Options choose the network, the data, the optimizer and where files go; see ``--help``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

import digits
import ferromix as mx
from ferromix.model import BatchEndParam

INPUTS = ("data", "softmax_label")
"""The arguments of a network that are not parameters."""


def lenet() -> mx.Symbol:
    """Two convolutions with pooling, then two fully connected layers (LeCun et al., 1998)."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50), start=1):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="tanh3")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def mlp() -> mx.Symbol:
    """Three fully connected layers."""
    x = mx.sym.Flatten(mx.sym.Variable("data"))
    for i, hidden in enumerate((128, 64), start=1):
        x = mx.sym.FullyConnected(x, num_hidden=hidden, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(x, name="softmax")


NETWORKS = {"lenet": lenet, "mlp": mlp}
STORES = ("local", "device", "dist_sync", "dist_async")
DEFAULT_RATES = {"sgd": 0.05, "adam": 0.001}


def parse_arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    digits.add_arguments(parser)
    parser.add_argument("--network", choices=NETWORKS, default="lenet")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32, help="of each process")
    parser.add_argument("--batches", type=int, help="end each epoch after so many batches")
    parser.add_argument("--optimizer", choices=DEFAULT_RATES, default="sgd")
    parser.add_argument("--lr", type=float, help="learning rate (default: that of the optimizer)")
    parser.add_argument("--kv-store", choices=STORES, default="local")
    parser.add_argument("--gpu", type=int, metavar="NUMBER", help="run there, not on the CPU")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of the shuffling")
    parser.add_argument("--output", type=Path, default=Path("digits-run"), metavar="DIR")
    parser.add_argument("--prefix", default="digits", help="how names of files in DIR begin")
    parser.add_argument("--load", type=Path, metavar="DIR/PREFIX", help="score a saved network")
    parser.add_argument("--epoch", type=int, help="which epoch to load (default: the last saved)")
    return parser.parse_args()


def bind(symbol: mx.Symbol, iterator: mx.io.MNISTIter, gpu: int | None) -> mx.Executor:
    """An executor for the batches of `iterator`, its arrays allocated by inferred shapes."""
    context = mx.cpu() if gpu is None else mx.gpu(gpu)
    shapes: dict[str, Any] = dict(iterator.provide_data + iterator.provide_label)
    request = {name: "null" if name in INPUTS else "write" for name in symbol.list_arguments()}
    return symbol.simple_bind(context, grad_req=request, **shapes)


def make_optimizer(
    args: argparse.Namespace, names: list[str], workers: int
) -> mx.optimizer.Optimizer:
    """The optimizer of the options, which knows each parameter by its index and its name."""
    # Gradients are sums over a batch; dist_sync adds up those of all workers' batches, too.
    summed = args.batch_size * (workers if args.kv_store == "dist_sync" else 1)
    options = {"momentum": 0.9, "wd": 1e-4} if args.optimizer == "sgd" else {}
    return mx.optimizer.create(
        args.optimizer,
        learning_rate=DEFAULT_RATES[args.optimizer] if args.lr is None else args.lr,
        rescale_grad=1 / summed,
        param_idx2name=dict(enumerate(names)),
        **options,
    )


class Trainer:
    """A network, its executor and the store that keeps its parameters."""

    def __init__(
        self, args: argparse.Namespace, train: mx.io.MNISTIter, store: mx.kv.KVStore
    ) -> None:
        self.args = args
        self.train = train
        self.store = store
        self.symbol = NETWORKS[args.network]()
        self.executor = bind(self.symbol, train, args.gpu)
        wanted = ((n, g) for n, g in self.executor.grad_dict.items() if g is not None)
        self.gradients = dict(wanted)
        self.weights = {name: self.executor.arg_dict[name] for name in self.gradients}
        store.set_optimizer(make_optimizer(args, list(self.weights), store.num_workers))
        batches = train.num_data // args.batch_size
        self.batches = min(batches, args.batches or batches)
        self.bar = mx.callback.TqdmBar(self.batches, args.batch_size)
        self.initialize()

    def initialize(self) -> None:
        """Draws the first weights and gives them to the store, each under its index as key."""
        draw = mx.init.Xavier()
        for key, (name, weight) in enumerate(self.weights.items()):
            draw(mx.init.InitDesc(name), weight)
            self.store.init(key, weight)

    def step(self, batch: mx.io.DataBatch) -> None:
        """One batch: gradients are pushed to the store, which updates; new weights come back."""
        self.executor.forward(is_train=True, data=batch.data[0], softmax_label=batch.label[0])
        self.executor.backward()
        for key, name in enumerate(self.weights):
            self.store.push(key, self.gradients[name])
            self.store.pull(key, out=self.weights[name])

    def epoch(self, number: int) -> dict[str, float]:
        """One pass over the images; loss, accuracy and samples per second of the pass."""
        metric = mx.metric.create(["acc", "ce"])
        self.train.reset()
        started = time.perf_counter()
        for i, batch in zip(range(self.batches), self.train, strict=False):
            self.step(batch)
            metric.update(batch.label, self.executor.outputs)
            self.bar(BatchEndParam(number, i, metric, None))
        if self.store.num_workers > 1:
            self.store.join()  # others may have a batch more
            for key, weight in enumerate(self.weights.values()):
                self.store.pull(key, out=weight)
        mx.nd.waitall()
        speed = self.batches * self.args.batch_size / (time.perf_counter() - started)
        found = dict(metric.get_name_value())
        return {
            "epoch": number,
            "loss": found["cross-entropy"],
            "train_accuracy": found["accuracy"],
            "samples_per_second": round(speed, 1),
        }

    def save(self, prefix: str, epoch: int) -> None:
        """Writes the graph and this epoch's parameters."""
        aux = self.executor.aux_dict
        mx.model.save_checkpoint(prefix, epoch, self.symbol, self.weights, aux)


def plot(history: list[dict[str, float]], path: str) -> str:
    """Draws loss and accuracy over the epochs; says what it did."""
    try:
        import matplotlib as mpl
    except ImportError:
        return "no picture, since matplotlib is not installed"

    mpl.use("Agg")
    from matplotlib import pyplot

    epochs = [row["epoch"] for row in history]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    left.plot(epochs, [row["loss"] for row in history], marker=".")
    left.set(xlabel="epoch", ylabel="cross-entropy (training)", yscale="log")
    for name, label in (("train_accuracy", "training"), ("val_accuracy", "held out")):
        right.plot(epochs, [row[name] for row in history], marker=".", label=label)
    right.set(xlabel="epoch", ylabel="accuracy")
    right.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path


def train_network(args: argparse.Namespace) -> None:
    """Trains and scores epoch by epoch; leaves checkpoints, a history and a picture behind."""
    mx.random.seed(args.seed)
    found = digits.find(args.data, args.output)
    store = mx.kv.create(args.kv_store)
    part = (store.rank, store.num_workers)
    train, validation = digits.iterators(found, args.batch_size, seed=args.seed, part=part)
    trainer = Trainer(args, train, store)
    args.output.mkdir(parents=True, exist_ok=True)
    prefix = str(args.output / args.prefix)
    history = []
    for number in range(1, args.epochs + 1):
        row = trainer.epoch(number)
        row["val_accuracy"] = digits.score(trainer.executor, validation)
        history.append(row)
        if store.rank != 0:
            continue
        trainer.save(prefix, number)
        print(
            f"epoch {number}: loss {row['loss']:.4f}, "
            f"accuracy {row['train_accuracy']:.4f} training, {row['val_accuracy']:.4f} held out, "
            f"{row['samples_per_second']:,.0f} samples/s",
            flush=True,
        )
    if store.rank != 0:
        return
    Path(f"{prefix}-history.json").write_text(json.dumps(history, indent=1) + "\n")
    picture = plot(history, f"{prefix}.png")
    print(f"saved {prefix}-symbol.json, {prefix}-*.params, {picture}")


def last_saved(prefix: Path) -> int:
    """The greatest number of a checkpoint with this prefix."""
    pattern = re.compile(re.escape(prefix.name) + r"-(\d+)\.params")
    matches = (pattern.fullmatch(path.name) for path in prefix.parent.glob("*.params"))
    numbers = [int(match[1]) for match in matches if match]
    if not numbers:
        raise SystemExit(f"there is no checkpoint {prefix}-*.params")
    return max(numbers)


def score_saved(args: argparse.Namespace) -> None:
    """Scores a checkpoint on the same held-out digits."""
    epoch = last_saved(args.load) if args.epoch is None else args.epoch
    symbol, arg_params, aux_params = mx.model.load_checkpoint(args.load, epoch)
    found = digits.find(args.data, args.load.parent)
    _, validation = digits.iterators(found, args.batch_size)
    executor = bind(symbol, validation, args.gpu)
    executor.copy_params_from(arg_params, aux_params)
    print(f"epoch {epoch}: accuracy {digits.score(executor, validation):.4f} held out")


def main() -> None:
    """Trains, or scores what was saved."""
    args = parse_arguments()
    if args.load is None:
        train_network(args)
    else:
        score_saved(args)


if __name__ == "__main__":
    main()
