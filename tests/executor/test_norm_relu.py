"""Gradients of BatchNorm that take in those of relus behind it: one step, of the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S

SWITCH = "FERROMIX_FUSE_NORM"
ONE, APART = "_backward_batch_norm_relu", ["_backward_Activation", "_backward_BatchNorm"]
SHAPES = {
    "planes": (3, 5, 9, 7),
    "planes of one element": (6, 3, 1, 1),
    "planes beyond a block": (2, 2, 50, 43),
    "many small planes": (70, 3, 7, 7),
    "columns": (9, 70),
    "one of all": (1, 1, 1),
    "one for each channel": (1, 4),
}


def net(act=None, **attrs):
    """BatchNorm of something that is no variable, and relu."""
    x = S.BatchNorm(S.identity(S.Variable("x")), name="bn", **{"fix_gamma": False, **attrs})
    return act(x) if act else S.Activation(x, act_type="relu")


def kinds(executor):
    return [n.op.name for n in executor.handle.main_program().order]


def passed(symbol, shape, dtype="float32", req="write", train=True, strange=False, gamma=None):
    """Everything that two passes give, and what ran."""
    executor = symbol.simple_bind(mx.cpu(), req, type_dict={"x": dtype}, x=shape)
    draw = np.random.default_rng(3)
    for name, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        values = draw.normal(size=array.shape)
        array[:] = np.abs(values) if name.endswith("var") else values
    if strange:
        executor.arg_dict["bn_beta"][0] = np.nan
    if gamma is not None:
        executor.arg_dict["bn_gamma"][:] = gamma
    for array in executor.grad_arrays:
        array[:] = 1
    found = []
    for _ in range(2):
        executor.forward(is_train=train)
        heads = [draw.normal(size=o.shape) for o in executor.outputs]
        executor.backward([mx.nd.array(h, dtype=dtype) for h in heads], is_train=train)
        arrays = [*executor.outputs, *executor.grad_arrays, *executor.aux_arrays]
        found += [a.astype("float32" if dtype == "float16" else dtype).asnumpy() for a in arrays]
    return found, kinds(executor)


def check(monkeypatch, symbol, *args, fused=True, **kwargs):
    """The same bits with the pass and without, and one step where it is to be."""
    monkeypatch.setenv(SWITCH, "0")
    expected, apart = passed(symbol, *args, **kwargs)
    monkeypatch.delenv(SWITCH)
    found, order = passed(symbol, *args, **kwargs)
    assert ONE not in apart
    assert (ONE in order) == fused
    assert not fused or not set(APART) & set(order)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_are_those_of_two_steps(shape, dtype, monkeypatch):
    check(monkeypatch, net(), shape, dtype)


@pytest.mark.parametrize("attrs", [{"fix_gamma": True}, {"use_global_stats": True}, {"axis": -1}])
@pytest.mark.parametrize("req", ["write", "add"])
def test_attributes_and_requests(attrs, req, monkeypatch):
    check(monkeypatch, net(**attrs), (3, 5, 6, 7), req=req)


@pytest.mark.parametrize("act", [S.relu, lambda x: S.Activation(x, act_type="relu")])
@pytest.mark.parametrize("train", [True, False])
def test_both_relus_in_both_modes(act, train, monkeypatch):
    check(monkeypatch, net(act), (3, 5, 6, 7), train=train)


@pytest.mark.parametrize("shape", [(3, 5, 6, 7), (4, 5)])
def test_what_is_no_number(shape, monkeypatch):
    check(monkeypatch, net(), shape, strange=True)


OTHERS = {
    "another activation": net(lambda x: S.Activation(x, act_type="tanh")),
    "the normalised data are an output": net(lambda x: S.Group([x, S.relu(x)])),
    "the normalised data are read": net(lambda x: S.relu(x) + S.sin(x)),
    "relu of something else": net(lambda x: S.relu(S.sin(x))),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("gamma", [3e38, np.inf, -np.inf])
def test_infinite_scales(shape, gamma, monkeypatch):
    check(monkeypatch, net(eps=1e-12, use_global_stats=True), shape, gamma=gamma)


@pytest.mark.parametrize("symbol", OTHERS.values(), ids=OTHERS)
def test_others_stay_two_steps(symbol, monkeypatch):
    check(monkeypatch, symbol, (3, 5, 6, 7), fused=False)


def test_halves_stay_two_steps(monkeypatch):
    """What they round to 0 does not pass the relu."""
    check(monkeypatch, net(), (3, 5, 6, 7), "float16", fused=False)


def test_gradients_are_those_of_the_formula():
    random = np.random.default_rng(5)
    x, g = random.normal(size=(2, 4, 3, 9, 5))
    gamma, beta = random.normal(size=(2, 3))
    symbol = net(eps=1e-3)
    executor = symbol.simple_bind(mx.cpu(), "write", type_dict={"x": "float64"}, x=x.shape)
    assert ONE in kinds(executor)
    for name, value in (("x", x), ("bn_gamma", gamma), ("bn_beta", beta)):
        executor.arg_dict[name][:] = value
    executor.forward(is_train=True)
    executor.backward(mx.nd.array(g, dtype="float64"))
    axes, wide = (0, 2, 3), (slice(None), None, None)
    root = np.sqrt(x.var(axes) + 1e-3)[wide]
    normal = (x - x.mean(axes)[wide]) / root
    g = g * (normal * gamma[wide] + beta[wide] > 0)
    both = [g.mean(axes)[wide], (g * normal).mean(axes)[wide]]
    expected = {
        "x": gamma[wide] / root * (g - both[0] - normal * both[1]),
        "bn_gamma": (g * normal).sum(axes),
        "bn_beta": g.sum(axes),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), value, 1e-9, 1e-9)
