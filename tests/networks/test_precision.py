"""Networks in single precision: near those in double precision, and the same bits on any number of
threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"

PROGRAM = """
import hashlib, json, sys
import numpy as np
import ferromix as mx
from builders import bound

def results(name, batch, dtype, train):
    executor, names = bound(mx, name, batch, train, dtype)
    executor.forward(is_train=train)
    if train:
        executor.backward()
    grads = [executor.grad_dict[n] for n in names] if train else []
    return [a.asnumpy() for a in (*executor.outputs, *grads)]

name, batch, with_double = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "double"
errors, known = {}, hashlib.sha256()
for train in (False, True):
    single = results(name, batch, "float32", train)
    assert all(np.isfinite(a).all() for a in single)
    known.update(b"".join(a.tobytes() for a in single))
    if with_double:
        output, = results(name, batch, "float64", train)[:1]
        errors[train] = float(np.abs(single[0] - output).max() / np.abs(output).max())
print(json.dumps([list(errors.values()), known.hexdigest()]))
"""

NIGHTLY = pytest.mark.nightly
NETWORKS = [
    *(("mlp", 16), ("lenet", 8), ("resnet20", 4), ("lstm", 32)),
    pytest.param("resnet18", 2, marks=NIGHTLY),
    pytest.param("resnet50", 8, marks=NIGHTLY),
    pytest.param("vgg11", 2, marks=NIGHTLY),
    pytest.param("mobilenet1", 2, marks=NIGHTLY),
    pytest.param("googlenet", 2, marks=NIGHTLY),
]

TRAINED = {"resnet50": 5}
"""How many times as far the outputs of training may be: 53 layers that each divide by the deviation
of what they get make rounding larger. MXNet's are 1.3e-4 away."""


def run(name: str, batch: int, how: str, **settings: str) -> tuple[list[float], str]:
    """Errors of outputs in prediction and in training, if asked, and a hash of all results."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, str(batch), how],
        env={**os.environ, "PYTHONPATH": str(BENCHES), **settings},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    errors, bits = json.loads(done.stdout)
    return errors, bits


@pytest.mark.parametrize(("name", "batch"), NETWORKS)
@pytest.mark.parametrize(("winograd", "most"), [("1", 1e-4), ("0", 1e-5)])
def test_outputs_are_near_those_in_double_precision(name, batch, winograd, most):
    errors, _ = run(name, batch, "double", FERROMIX_WINOGRAD=winograd)
    print(f"{name}: {errors[0]:.1e} in prediction, {errors[1]:.1e} in training")
    assert len(errors) == 2
    assert errors[0] <= most
    assert errors[1] <= most * TRAINED.get(name, 1)


@pytest.mark.parametrize(("name", "batch"), NETWORKS)
def test_bits_do_not_depend_on_the_threads(name, batch):
    found = {run(name, batch, "single", FERROMIX_NUM_THREADS=str(n))[1] for n in (1, 2, 3, 5)}
    assert len(found) == 1
