"""Executors against the values of MXNet 1.9.1 (tools/golden/make_symbols.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "symbol"
NETWORKS = sorted(p.stem for p in GOLDEN.glob("*.npz"))
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def bound(name, grad_req="write"):
    """An executor of a network that MXNet saved, with the arguments that MXNet had."""
    golden = dict(np.load(GOLDEN / f"{name}.npz"))
    args = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("arg:")}
    grads = {k: mx.nd.ones(v.shape) for k, v in args.items()}
    states = {k[4:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("aux:")}
    net = mx.sym.load(GOLDEN / f"{name}.json")
    return net.bind(mx.cpu(), args, grads, grad_req, states), golden


def compare(found, golden, prefix):
    expected = {k.partition(":")[2]: v for k, v in golden.items() if k.startswith(prefix + ":")}
    assert set(found) == set(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key].asnumpy(), value, err_msg=key, **TOLERANCE)


def heads(golden, outputs):
    return [mx.nd.array(golden[f"head:{i}"]) for i in range(len(outputs))]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_training_step(name):
    executor, golden = bound(name)
    outputs = executor.forward(is_train=True)
    executor.backward(heads(golden, outputs))
    compare({str(i): o for i, o in enumerate(outputs)}, golden, "out")
    compare(executor.grad_dict, golden, "grad")
    compare(executor.aux_dict, golden, "aux_after")
    outputs = executor.forward(is_train=False)
    compare({str(i): o for i, o in enumerate(outputs)}, golden, "predicted")


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_add_up(name):
    executor, golden = bound(name, "add")
    outputs = executor.forward(is_train=True)
    executor.backward(heads(golden, outputs))
    added = {k: v + 1 for k, v in golden.items() if k.startswith("grad:")}
    compare(executor.grad_dict, added, "grad")


@pytest.mark.parametrize("name", NETWORKS)
def test_every_gradient_alone(name):
    _, golden = bound(name)
    for wanted in (k[5:] for k in golden if k.startswith("grad:")):
        executor, _ = bound(name, {wanted: "write"})
        outputs = executor.forward(is_train=True)
        executor.backward(heads(golden, outputs))
        found = executor.grad_dict[wanted].asnumpy()
        np.testing.assert_allclose(found, golden[f"grad:{wanted}"], err_msg=wanted, **TOLERANCE)
