"""What an executor tells of its kernels."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import ferromix as mx


def convolution(shape, **attrs):
    x = mx.sym.Convolution(mx.sym.Variable("data"), name="c", no_bias=True, **attrs)
    return x, shape


WAYS = {
    "minimal filtering F(4x4, 3x3)": convolution((8, 64, 30, 30), kernel=(3, 3), num_filter=64),
    "plane by plane": convolution((2, 64, 20, 20), kernel=(3, 3), num_filter=64, num_group=64),
    "product of 8 by 75, read in place": convolution((1, 3, 20, 40), kernel=(5, 5), num_filter=8),
    "product of 64 by 24, gathered": convolution((2, 24, 9, 9), kernel=(1, 1), num_filter=64),
}


@pytest.mark.parametrize("choice", WAYS)
def test_convolutions_say_how_they_are_computed(choice):
    net, shape = WAYS[choice]
    executor = net.simple_bind(mx.cpu(), "null", data=shape)
    (step,) = executor.kernel_plan().steps
    assert (step.name, step.operator, step.choice, step.kept) == ("c", "Convolution", choice, 0)


def test_gradients_say_it_for_both():
    net, shape = WAYS["product of 64 by 24, gathered"]
    steps = net.simple_bind(mx.cpu(), data=shape).kernel_plan().steps
    back = [s.choice for s in steps if s.operator == "_backward_Convolution"]
    assert back == ["data: product of 24 by 64, gathered; weight: product of 24 by 64, gathered"]


def test_what_is_kept_is_listed_after_the_first_pass():
    net, shape = WAYS["product of 64 by 24, gathered"]
    net = mx.sym.softmax(mx.sym.Flatten(net), name="s")
    executor = net.simple_bind(mx.cpu(), "null", data=shape)
    executor.forward(is_train=False)[0].wait_to_read()
    plan = executor.kernel_plan()
    # The weights, 64 by 24 numbers, in another order; whole lines of 64 bytes.
    assert [(s.name, s.kept) for s in plan.steps] == [("c", 64 * 24 * 4), ("s", 0)]
    assert plan.kept == 64 * 24 * 4
    lines = str(plan).splitlines()
    assert lines[0].split() == ["step", "operator", "workspace", "kept", "how"]
    assert lines[1].split()[:2] == ["c", "Convolution"]
    assert lines[1].endswith("6144  product of 64 by 24, gathered")
    assert lines[-1] == "2 steps, which keep 6144 bytes"


def test_a_function_of_the_users_is_a_step():
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("twice_of_kernel_plan")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Twice()

    net = mx.sym.Custom(mx.sym.Variable("data"), op_type="twice_of_kernel_plan", name="t")
    executor = net.simple_bind(mx.cpu(), "null", data=(2, 3))
    (step,) = executor.kernel_plan().steps
    assert (step.name, step.choice) == ("t", None)
    assert step.operator == "Custom operator 'twice_of_kernel_plan'"
    assert np.array_equal(
        executor.forward(data=mx.nd.ones((2, 3)))[0].asnumpy(), np.full((2, 3), 2)
    )


def test_graphs_with_sparse_arrays_tell_their_operators():
    x = mx.sym.Variable("x", stype="csr")
    net = mx.sym.relu(mx.sym.dot(x, mx.sym.Variable("w"), name="d"), name="r")
    executor = net.simple_bind(mx.cpu(), "null", x=(3, 4), w=(4, 2))
    steps = executor.kernel_plan().steps
    assert [tuple(s) for s in steps] == [("d", "dot", None, 0, 0), ("r", "relu", None, 0, 0)]


SCRIPT = """
import ferromix as mx
from builders import Symbols, fill
from zoo import NETWORKS
for name in ("lenet", "resnet20", "resnet18", "mobilenet1", "googlenet"):
    network = NETWORKS[name]
    net = network.build(Symbols(mx.sym), mx.sym.Variable("data"))
    executor = net.simple_bind(mx.cpu(), "null", data=network.shape(1))
    fill(executor, net.list_arguments(), network.classes)
    executor.forward(is_train=False)[0].wait_to_read()
    weights = sum(a.size * 4 for n, a in executor.arg_dict.items() if n.endswith("weight"))
    kept = executor.kernel_plan().kept
    assert 0 < kept <= 1.3 * weights, (name, kept, weights)
"""


def test_weights_in_another_order_take_little_more_than_the_weights():
    folder = os.path.join(os.path.dirname(__file__), "..", "..", "benches")
    settings = {"PYTHONPATH": folder, "FERROMIX_WINOGRAD": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
