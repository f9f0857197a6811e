"""Five steps of every optimizer as MXNet 1.9.1 makes them, from a file that tools/golden wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FILE = Path(__file__).parents[1] / "golden" / "updates" / "optimizers.npz"
with np.load(FILE) as data:
    ROWS, VALUES = json.loads(str(data["rows"])), data["values"]
NAMES = {0: "a_weight", 1: "a_bias"}
RTOL = {"float32": 5e-5, "float16": 1e-3}
"""MXNet's rates are float32; a rounding to half precision may go the other way."""


def arrays():
    """The arrays of each row."""
    start = 0
    for row in ROWS:
        found = []
        for dtype, shape in row["kept"]:
            end = start + int(np.prod(shape))
            found.append(VALUES[start:end].reshape(shape).astype(dtype))
            start = end
        yield found


ARRAYS = list(arrays())


def leaves(state):
    if isinstance(state, (tuple, list)):
        for part in state:
            yield from leaves(part)
    elif state is not None:
        yield state


def close(found, expected, what):
    assert found.dtype == expected.dtype, what
    tolerance = RTOL[expected.dtype.name]
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * scale / 10, err_msg=what
    )


def words(row):
    options = [f"{k}={v}" for k, v in row["options"].items()]
    return "-".join([row["name"], row["dtype"], *["schedule"] * bool(row["schedule"]), *options])


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda i: words(ROWS[i]))
def test_trajectory(number):
    row, kept = ROWS[number], list(ARRAYS[number])
    schedule = row["schedule"] and mx.lr_scheduler.FactorScheduler(row["schedule"], 0.5)
    optimizer = mx.optimizer.create(
        row["name"],
        param_idx2name=NAMES,
        lr_scheduler=schedule,
        multi_precision=row["dtype"] == "float16",
        **row["options"],
    )
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.array(w, dtype=w.dtype) for w in kept[:2]]
    for step in range(5):
        grads, wanted = kept[2 + 4 * step : 4 + 4 * step], kept[4 + 4 * step : 6 + 4 * step]
        updater([0, 1], [mx.nd.array(g, dtype=g.dtype) for g in grads], weights)
        for name, weight, value in zip(NAMES.values(), weights, wanted, strict=True):
            close(weight.asnumpy(), value, f"{name} after step {step + 1}")
    states = list(leaves([updater.states[0], updater.states[1]]))
    for k, (state, value) in enumerate(zip(states, kept[22:], strict=True)):
        close(state.asnumpy(), value, f"state {k}")


def test_every_optimizer_is_there():
    # The noise of SGLD is tested by its moments, rates of rows with sparse arrays; ccSGD is SGD.
    tried = {row["name"] for row in ROWS} | {"sgld", "groupadagrad", "ccsgd"}
    classes = {v for v in vars(mx.optimizer).values() if isinstance(v, type)}
    rules = {c for c in classes if issubclass(c, mx.optimizer.Optimizer)} - {mx.optimizer.Optimizer}
    assert {c.__name__.lower() for c in rules} == tried
