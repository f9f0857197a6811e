"""LeNet on handwritten digits, trained by several processes as by one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from processes import command, succeed

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = os.environ.get("FERROMIX_DATA")
MNIST = str(Path(DATA) / "mnist") if DATA and (Path(DATA) / "mnist").is_dir() else None

TRAIN = """
sys.path.insert(0, EXAMPLES)
from pathlib import Path
import digits, train_digits

BATCH = 64
found = digits.find(MNIST and Path(MNIST), Path(FOLDER) / os.environ["OMPI_COMM_WORLD_RANK"])
kv = mx.kv.create("dist_sync")
whole, _ = digits.iterators(found, BATCH, seed=3)
rows = slice(BATCH * kv.rank // kv.num_workers, BATCH * (kv.rank + 1) // kv.num_workers)
count = rows.stop - rows.start
shape = (count, *whole.provide_data[0].shape[1:])
symbol = train_digits.lenet()
inputs = ("data", "softmax_label")
request = {name: "null" if name in inputs else "write" for name in symbol.list_arguments()}
executor = symbol.simple_bind(
    mx.cpu(), request, {n: DTYPE for n in request}, data=shape, softmax_label=(count,)
)
kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.05, momentum=0.9, rescale_grad=1 / BATCH))
names = [n for n in symbol.list_arguments() if request[n] == "write"]
random = np.random.default_rng(0)
for name in names:
    weight = executor.arg_dict[name]
    weight[:] = random.standard_normal(weight.shape) * (0.05 if weight.ndim > 1 else 0)
    kv.init(name, weight)
for step in range(STEPS):
    batch = whole.next() if step % 50 else (whole.reset(), whole.next())[1]
    label = batch.label[0][rows]
    data = batch.data[0][rows].astype(DTYPE)
    executor.forward(is_train=True, data=data, softmax_label=label.astype(DTYPE))
    executor.backward()
    for i, name in enumerate(names):
        kv.push(name, executor.grad_dict[name], priority=-i)
        kv.pull(name, out=executor.arg_dict[name], priority=-i)
    chances = mx.nd.pick(executor.outputs[0], label).asnumpy()
    say(float(-np.log(chances.astype("float64")).sum()))
"""


def losses(ranks, dtype, steps, folder):
    folder.mkdir()
    settings = f"EXAMPLES, MNIST, FOLDER = {str(EXAMPLES)!r}, {MNIST!r}, {str(folder)!r}\n"
    settings += f"DTYPE, STEPS = {dtype!r}, {steps}\n"
    lines = succeed(ranks, settings + TRAIN, timeout=240, FERROMIX_NUM_THREADS="1")
    return np.sum([[float(line) for line in lines[rank]] for rank in range(ranks)], axis=0)


NEEDS_MNIST = pytest.mark.skipif(
    MNIST is None, reason="needs MNIST: FERROMIX_DATA names the folder above it"
)


# Sums in another order differ in the last bit, by which the maximum of a pool becomes another
# element sooner or later, in float32 after some 15 steps; from there on, losses are others.
@pytest.mark.nightly
@NEEDS_MNIST
@pytest.mark.parametrize(("dtype", "steps"), [("float32", 15), ("float64", 100)])
def test_losses_are_those_of_one_process(dtype, steps, tmp_path):
    alone = losses(1, dtype, steps, tmp_path / "1")
    assert alone[-3:].mean() < alone[:3].mean() / 2
    for ranks in (2, 4):
        found = losses(ranks, dtype, steps, tmp_path / str(ranks))
        np.testing.assert_allclose(found, alone, rtol=1e-5)


@pytest.mark.nightly
# Old gradients and momentum: at the rate of one process, dist_async diverges.
@pytest.mark.parametrize(("store", "rate"), [("dist_sync", "0.05"), ("dist_async", "0.01")])
def test_the_example_trains_in_two_processes(store, rate, tmp_path):
    options = ["--epochs", "6", "--batch-size", "16", "--kv-store", store, "--lr", rate]
    options += ["--output", str(tmp_path)]
    program = [str(EXAMPLES / "train_digits.py"), *options]
    subprocess.run(command(2, program), check=True, capture_output=True, timeout=240)
    history = json.loads((tmp_path / "digits-history.json").read_text())
    assert max(epoch["val_accuracy"] for epoch in history) > 0.95


@pytest.mark.nightly
@NEEDS_MNIST
def test_dist_async_scores_as_one_process(tmp_path):
    def accuracy(store, ranks):
        folder = tmp_path / store
        options = ["--epochs", "6", "--batch-size", "16", "--kv-store", store, "--lr", "0.02"]
        options += ["--data", str(MNIST), "--output", str(folder)]
        program = [str(EXAMPLES / "train_digits.py"), *options]
        settings = {**os.environ, "FERROMIX_NUM_THREADS": "1"}
        subprocess.run(command(ranks, program), check=True, timeout=500, env=settings)
        history = json.loads((folder / "digits-history.json").read_text())
        return max(epoch["val_accuracy"] for epoch in history)

    alone, together = accuracy("local", 1), accuracy("dist_async", 2)
    assert together > alone - 0.005, (alone, together)
