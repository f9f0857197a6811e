"""Saved states of optimizers of MXNet 1.9.1, and how training goes on: tests/golden/states.npz.

usage: PYTHON tools/golden/make_states.py, with an interpreter that has MXNet 1.9.1

For each row of ``rows``, a JSON list of name, options, type, and whether the optimizer is in the
pickle: the pickle after three steps, the weight then, two gradients, and the weight after them.
"""

import json
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "states.npz"
ROWS = [
    ("sgd", {"momentum": 0.9}, "float32", False),
    ("sgd", {"momentum": 0.9, "multi_precision": True}, "float16", False),
    ("adam", {}, "float32", False),
    ("adam", {}, "float32", True),
    ("nadam", {}, "float32", True),
    ("ftml", {}, "float32", True),
    ("lamb", {}, "float32", True),
    ("rmsprop", {"centered": True}, "float32", True),
    ("adadelta", {}, "float32", False),
]


def main() -> None:
    """Writes the file."""
    random, found = np.random.RandomState(2), {}
    for number, (name, options, dtype, dumped) in enumerate(ROWS):
        grads = [mx.nd.array(random.standard_normal((3, 2)), dtype=dtype) for _ in range(5)]
        weight = mx.nd.array(random.standard_normal((3, 2)), dtype=dtype)
        first = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
        for grad in grads[:3]:
            first(0, grad, weight)
        states = first.get_states(dumped)
        found[f"{number} states"] = np.frombuffer(states, np.uint8)
        found[f"{number} weight"] = weight.asnumpy()
        second = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
        second.set_states(states)
        for grad in grads[3:]:
            second(0, grad, weight)
        found[f"{number} grads"] = np.stack([grad.asnumpy() for grad in grads[3:]])
        found[f"{number} after"] = weight.asnumpy()
    np.savez_compressed(TARGET, rows=np.array(json.dumps(ROWS)), **found)


if __name__ == "__main__":
    main()
