"""A training that saves every epoch, and goes on from what is there: PREFIX EPOCHS."""

from __future__ import annotations

import json
import sys

import numpy as np

import ferromix as mx
from ferromix import files


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1024, name="f1")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="relu"), name="bn")
    net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.3), num_hidden=4, name="f2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(prefix: str, epochs: int) -> None:
    random = np.random.default_rng(0)
    data = random.normal(size=(96, 512)).astype("float32")
    samples = mx.io.NDArrayIter(data, random.integers(0, 4, 96), 32, shuffle=True, seed=3)
    begin = mx.model.latest_epoch(prefix)
    if begin is None:
        module, begin = mx.mod.Module(network()), 0
    else:
        module = mx.mod.Module.load(prefix, begin, load_optimizer_states=True)
        samples.load_state_dict(json.loads(files.read(f"{prefix}-{begin:04d}.data")))
    mx.random.seed(begin)

    def save(epoch, *_):
        # The order of the data goes first: with the parameters, the checkpoint is complete.
        state = samples.state_dict() | {"epoch": epoch + 1, "position": 0}
        state |= {"started": False, "ended": False}
        files.write(f"{prefix}-{epoch + 1:04d}.data", json.dumps(state).encode())
        module.save_checkpoint(prefix, epoch + 1, save_optimizer_states=True)
        mx.random.seed(epoch + 1)

    module.fit(
        samples,
        begin_epoch=begin,
        num_epoch=epochs,
        initializer=mx.init.Xavier(),
        optimizer="nadam",
        optimizer_params={
            "learning_rate": 0.01,
            "wd": 1e-3,
            "lr_scheduler": mx.lr_scheduler.FactorScheduler(4, 0.9, warmup_steps=5),
        },
        epoch_end_callback=save,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
