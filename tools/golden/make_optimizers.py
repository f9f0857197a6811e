"""Writes tests/golden/updates/optimizers.npz: five steps of each optimizer of MXNet 1.9.1.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet. ``rows`` is a
JSON list of name, options, step of a schedule (or null), type, and the shapes and types of what is
kept; ``values`` are the elements, one after another: for each row two weights, then for each step
two gradients and both weights after it, then all states in the end.
"""

import json
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "updates"
NAMES = {0: "a_weight", 1: "a_bias"}
SHAPES = ((3, 4), (5,))
STEPS = 5
COMMON = {"learning_rate": 0.1, "wd": 0.05, "rescale_grad": 0.5, "clip_gradient": 0.4}
RULES = [
    ("sgd", {}),
    ("sgd", {"momentum": 0.9}),
    ("adam", {"beta1": 0.8}),
    ("nag", {}),
    ("nag", {"momentum": 0.9}),
    ("signum", {"wd_lh": 0.1}),
    ("signum", {"momentum": 0.0}),
    ("ftml", {}),
    ("ftrl", {"lamda1": 0.3, "beta": 0.5}),
    ("rmsprop", {}),
    ("rmsprop", {"clip_weights": 0.5, "gamma1": 0.8}),
    ("rmsprop", {"centered": True, "gamma2": 0.7}),
    ("lamb", {}),
    ("lamb", {"lower_bound": 2.0, "bias_correction": False}),
    ("lamb", {"upper_bound": 1.0}),
    ("lars", {"eta": 0.5}),
    ("lars", {"eta": 0.5, "momentum": 0.9, "eps": 0.01}),
    ("lars", {"eta": 0.5, "momentum": 0.9, "momentum_correction": False}),
    ("lbsgd", {"batch_scale": 2, "warmup_epochs": 2, "updates_per_epoch": 3, "momentum": 0.9}),
    ("lbsgd", {"batch_scale": 2, "warmup_strategy": "power2", "updates_per_epoch": 1}),
    ("lbsgd", {"batch_scale": 3, "warmup_strategy": "sqrt", "begin_epoch": 1}),
    ("lbsgd", {"warmup_strategy": "lars"}),
    ("adagrad", {"eps": 1e-3}),
    ("adadelta", {"rho": 0.8}),
    ("adamax", {}),
    ("nadam", {"schedule_decay": 0.1}),
    ("dcasgd", {"lamda": 0.5}),
    ("test", {}),
]
# In half precision with a copy of the weight; LAMB's step does not change the copy in MXNet 1.9.1.
MIXED = ("sgd", "nag", "adam", "ftml", "adagrad", "lars", "lbsgd", "nadam", "rmsprop", "signum")


class Recorder:
    """Runs optimizers and keeps what they do."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.values: list[np.ndarray] = []
        self.random = np.random.default_rng(11)

    def run(self, name: str, options: dict, schedule=None, dtype: str = "float32") -> None:
        """Five steps of two parameters."""
        self.kept: list[tuple] = []
        scheduler = schedule and mx.lr_scheduler.FactorScheduler(schedule, 0.5)
        mixed = {"multi_precision": True} if dtype == "float16" else {}
        optimizer = mx.optimizer.create(
            name, param_idx2name=NAMES, lr_scheduler=scheduler, **options, **mixed
        )
        updater = mx.optimizer.get_updater(optimizer)
        weights = [self.draw(shape, dtype) for shape in SHAPES]
        self.keep(weights)
        for _ in range(STEPS):
            grads = [self.draw(shape, dtype) for shape in SHAPES]
            self.keep(grads)
            updater([0, 1], grads, weights)
            self.keep(weights)
        self.keep(list(leaves([updater.states[0], updater.states[1]])))
        row = {"name": name, "options": options, "schedule": schedule, "dtype": dtype}
        self.rows.append({**row, "kept": self.kept})

    def draw(self, shape: tuple, dtype: str) -> mx.nd.NDArray:
        """Normal numbers."""
        return mx.nd.array(self.random.standard_normal(shape), dtype=dtype)

    def keep(self, arrays: list) -> None:
        """Stores values."""
        for array in arrays:
            value = array.asnumpy()
            self.kept.append((value.dtype.name, value.shape))
            self.values.append(value.astype(np.float32).ravel())


def leaves(state):
    """The arrays of nested states in order."""
    if isinstance(state, (tuple, list)):
        for part in state:
            yield from leaves(part)
    elif state is not None:
        yield state


def main() -> None:
    """Writes the file."""
    recorder = Recorder()
    for name, options in RULES:
        recorder.run(name, options)
        recorder.run(name, {**COMMON, **options})
        recorder.run(name, {**COMMON, **options}, 2)
        if name in MIXED:
            recorder.run(name, {**COMMON, **options}, dtype="float16")
    TARGET.mkdir(parents=True, exist_ok=True)
    rows, values = np.array(json.dumps(recorder.rows)), np.concatenate(recorder.values)
    np.savez_compressed(TARGET / "optimizers.npz", rows=rows, values=values)


if __name__ == "__main__":
    main()
