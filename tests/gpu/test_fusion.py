"""Groups of elementwise operators as one kernel: the CPU's values, in fewer launches."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import fusion, recipe, source
from ferromix.dispatch.recipes import binary, elemwise, math, scalar
from ferromix.executor import program as executor_program
from ferromix.executor.order import Order
from ferromix.executor.passes import optimise
from ferromix.graph.fuse import FusedNode
from ferromix.graph.plan_memory import plan_memory
from ferromix.ops.card import find, make

from .device import races

GPU = mx.gpu(0)


def network() -> mx.sym.Symbol:
    """Chains with a number, a broadcast input, an activation, and a result that two read."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    gate = mx.sym.sigmoid(mx.sym.broadcast_mul(x, y) * 1.7 - 0.3)
    half = mx.sym.Activation(gate, act_type="softrelu") + mx.sym.square(gate)
    return mx.sym.broadcast_add(half / (mx.sym.abs(x) + 1), y)


def run(device, dtype, request):
    numbers = np.random.default_rng(3)
    shapes = {"x": (5, 33), "y": (5, 1)}
    arrays = {k: mx.nd.array(numbers.normal(size=s), device, dtype) for k, s in shapes.items()}
    grads = {k: mx.nd.ones(s, device, dtype=dtype) for k, s in shapes.items()}
    executor = network().bind(device, arrays, args_grad=grads, grad_req=request)
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(mx.nd.array(numbers.normal(size=(5, 33)), device, dtype))
    trained = executor.outputs[0].asnumpy()
    predicted = executor.forward(is_train=False)[0].asnumpy()
    return [trained, predicted, *(grads[k].asnumpy() for k in shapes)]


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 1e-5), ("float64", 1e-12), ("float16", 1e-2), ("bfloat16", 1e-1)],
)
@pytest.mark.parametrize("request_", ["write", "add"])
def test_values_are_those_of_the_cpu(dtype, tolerance, request_):
    expected, found = run(mx.cpu(), dtype, request_), run(GPU, dtype, request_)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(
            a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance
        )
    assert races() == ""


@pytest.fixture
def orders(monkeypatch):
    """The orders of execution that are planned while a test runs."""
    seen = []

    def watched(order, *rest):
        seen.append(list(order))
        return plan_memory(order, *rest)

    monkeypatch.setattr(executor_program, "plan_memory", watched)
    return seen


def test_a_graph_takes_fewer_steps(orders, monkeypatch):
    network().simple_bind(GPU, x=(2, 3), y=(2, 1), grad_req="null").forward(is_train=False)
    assert [isinstance(n, FusedNode) for n in orders[-1]] == [True]
    assert len(orders[-1][0].members) == 11
    network().simple_bind(mx.cpu(), x=(2, 3), y=(2, 1), grad_req="null").forward(is_train=False)
    assert not any(isinstance(n, FusedNode) for n in orders[-1])
    monkeypatch.setenv("FERROMIX_GPU_FUSION", "0")
    network().simple_bind(GPU, x=(2, 3), y=(2, 1), grad_req="null").forward(is_train=False)
    assert not any(isinstance(n, FusedNode) for n in orders[-1])


def test_steps_may_be_run_one_by_one():
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)
    net = mx.sym.tanh(mx.sym.exp(mx.sym.Variable("x")) * 0.5) + 1
    executor = net.bind(GPU, {"x": mx.nd.array(x, GPU)}, grad_req="null")
    step, left = 0, 1
    while left:
        left = executor.partial_forward(is_train=False, step=step)
        step += 1
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.tanh(np.exp(x) * 0.5) + 1, 1e-5)


@pytest.mark.parametrize(
    ("stem", "words"),
    [
        ("math", math.PLAIN),
        ("elemwise", [w for w in elemwise.PLAIN if w != "logical_not"]),
        ("binary", [*binary.ARITHMETIC, *binary.EXTREMES, *binary.COMPARISONS, *binary.LOGIC]),
        ("scalar", [*scalar.NUMERIC, *scalar.EXTREMES, *scalar.COMPARISONS, *scalar.LOGIC]),
        ("activation", ["relu", "tanh", "tanh_backward", "softsign_backward", "gelu"]),
    ],
)
def test_every_plain_row_has_an_expression(stem, words):
    assert {w.lstrip("_") for w in words} <= set(source.expressions(stem))


def test_what_is_one_expression():
    def ask(name, inputs, dtype="float32", **attrs):
        desc = ((2, 3), dtype)
        return fusion.is_elementwise(make(name, attrs), (desc,) * inputs, desc, False)

    plain = [n for n in recipe.rows() if n in math.PLAIN and not find(n).hidden]
    assert len(plain) > 20
    assert all(ask(name, 1) for name in plain)
    assert ask("broadcast_hypot", 2)
    assert ask("_rpower_scalar", 1, scalar=2)
    assert ask("LeakyReLU", 1, act_type="gelu")
    assert not ask("LeakyReLU", 1, act_type="leaky")
    assert not ask("softmax", 1)
    assert not ask("exp", 1, "int32")
    assert not ask("Dropout", 1)


@pytest.mark.parametrize(("lacks", "eps"), [(False, 0.002), (True, 0.003)])
def test_what_a_gpu_lacks_a_kernel_for_is_kept_there(lacks, eps, monkeypatch):
    if lacks:
        monkeypatch.setattr(recipe, "find", lambda name: None)
    x = mx.sym.Variable("x")
    for i in range(3):
        x = mx.sym.sin(x)
        x = mx.sym.BatchNorm(x, eps=eps, name=f"bn{i}", attr={"__force_mirroring__": "1"})
    network = mx.sym.sin(x).simple_bind(mx.cpu(), x=(4, 3, 8, 8)).handle.network
    kept = list(network.gradients.values())
    known = (network.forward, network.backward, network.shapes, network.types)
    for device, count in ((mx.cpu(0), 3), (GPU, 0 if lacks else 3)):
        devices = dict.fromkeys(network.devices, device)
        order = optimise(Order(*map(list, known[:2]), *known[2:], devices), kept, kept, False)
        assert sum(n.op.name == "_batch_norm_again" for n in order.backward) == count
