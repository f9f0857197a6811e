"""Operators registered by name in graphs and in files, and what their backward reads."""

from __future__ import annotations

import json

import numpy as np
import pytest
from customs import copy_backward, copy_forward, register, scaled

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError

RNG = np.random.default_rng(16)


def test_a_symbol_makes_the_variables_that_are_missing():
    symbol = scaled(name="s")
    assert symbol.list_arguments() == ["x", "s_weight"]
    assert symbol.list_auxiliary_states() == ["s_runs"]
    assert symbol.list_outputs() == ["s_out", "s_largest"]
    assert scaled().name.startswith("custom")
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3), (1,)], [(1,)])
    assert symbol.infer_shape_partial() == ([(), ()], [(), (1,)], [(1,)])
    types = symbol.infer_type(x="float64")
    assert types == ([np.float64] * 2, [np.float64] * 2, [np.float32])
    assert symbol.get_internals().list_outputs() == [
        *("x", "s_weight", "s_runs", "s_out", "s_largest")
    ]


@pytest.mark.parametrize("request_", ["write", "add", "null"])
def test_a_bound_symbol_honours_requests(request_):
    x = RNG.normal(size=(2, 3)).astype("float32")
    symbol = mx.sym.tanh(scaled(name="s")[0]) * 3
    requests = {"x": request_, "s_weight": "write"}
    executor = symbol.simple_bind(mx.cpu(), x=(2, 3), grad_req=requests)
    executor.arg_dict["s_weight"][:] = 0.25
    for step in range(3):
        executor.forward(is_train=True, x=mx.nd.array(x))
        executor.backward(mx.nd.ones((2, 3)))
        out = np.tanh(2 * x + 0.25)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), 3 * out, rtol=1e-4)
        slope = 3 * (1 - out**2)
        np.testing.assert_allclose(executor.grad_dict["s_weight"].asnumpy(), slope, atol=1e-5)
        if request_ != "null":
            factor = 2 * (step + 1 if request_ == "add" else 1)
            np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), factor * slope, atol=1e-4)
    executor.forward(is_train=False)
    assert executor.aux_dict["s_runs"].asscalar() == 3 * 1001 + 100


def test_an_executor_keeps_its_object():
    objects = []

    def forward(op, req, in_data, out_data, **_):
        op.count = getattr(op, "count", 0) + 1
        objects.append(op)
        op.assign(out_data[0], req[0], op.count)

    symbol = mx.sym.Custom(mx.sym.var("x"), op_type=register("test_count", forward, copy_backward))
    executors = [symbol.simple_bind(mx.cpu(), x=(1,)) for _ in range(2)]
    for _ in range(3):
        for executor in executors:
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((1,)))
            executor.forward(is_train=False)
    assert [e.outputs[0].asscalar() for e in executors] == [6, 6]
    assert len(set(objects)) == 2


def test_a_graph_between_other_operators_and_branches():
    register("test_copy", copy_forward, copy_backward)
    x = mx.sym.Variable("x")
    rows = [mx.sym.Custom(mx.sym.exp(x * (i + 1)), op_type="test_copy") + x for i in range(6)]
    symbol = mx.sym.add_n(*rows)
    value = RNG.normal(size=(5, 7))
    executor = symbol.simple_bind(mx.cpu(), x=(5, 7), type_dict={"x": "float64"})
    for _ in range(20):
        executor.forward(is_train=True, x=mx.nd.array(value, dtype="float64"))
        executor.backward(mx.nd.ones((5, 7), dtype="float64"))
    powers = [np.exp(value * (i + 1)) for i in range(6)]
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), sum(powers) + 6 * value)
    slope = sum((i + 1) * p for i, p in enumerate(powers)) + 6
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope)


def test_saved_symbols_load_where_the_operator_is_registered(tmp_path):
    symbol = scaled(name="s")
    node = next(n for n in json.loads(symbol.tojson())["nodes"] if n["op"] == "Custom")
    assert node["attrs"] == {"op_type": "test_scaled", "scale": "2"}
    assert json.loads(symbol.tojson())["node_row_ptr"] == [0, 1, 2, 3, 5]
    symbol.save(str(tmp_path / "s.json"))
    loaded = mx.sym.load(str(tmp_path / "s.json"))
    assert loaded.tojson() == symbol.tojson()
    out = loaded.simple_bind(mx.cpu(), x=(1, 2)).forward(x=mx.nd.ones((1, 2)))[0]
    assert out.asnumpy().tolist() == [[2, 2]]
    missing = symbol.tojson().replace("test_scaled", "test_skaled")
    with pytest.raises(FileFormatError, match=r"'test_skaled' \(did you mean test_scaled"):
        mx.sym.load_json(missing)


def test_a_recorded_graph_is_a_symbol():
    x = mx.nd.ones((1, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, mx.nd.ones((1, 2)), mx.nd.zeros((1,)), op_type="test_scaled")[0]
    assert mx.autograd.get_symbol(y).list_arguments() == ["var0", "var1"]


# -- dependencies ----------------------------------------------------------------------------------


def test_backward_gets_what_is_declared():
    def forward(op, req, in_data, out_data, **_):
        op.assign(out_data[0], req[0], mx.nd.exp(in_data[0]))

    def backward(op, req, out_grad, in_data, out_data, in_grad, **_):
        assert in_data[0].shape == (2, 2)
        assert in_data[0].dtype == "float32"
        op.assign(in_grad[0], req[0], out_grad[0] * out_data[0])

    def depends(self, out_grad, in_data, out_data):
        assert (out_grad, in_data, out_data) == ([0], [1], [2])
        return [*out_grad, *out_data]

    name = register("test_exp", forward, backward, declare_backward_dependency=depends)
    value = RNG.normal(size=(2, 2)).astype("float32")
    x = mx.nd.array(value)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    with mx.autograd.pause():
        x[:] = 100  # which backward does not read
    y.backward(mx.nd.ones((2, 2)) * 2)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp(value), rtol=1e-6)
    executor = mx.sym.Custom(mx.sym.var("x") * 2, op_type=name).simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=mx.nd.array(value))
    executor.backward(mx.nd.ones((2, 2)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * np.exp(2 * value), rtol=1e-5)


def test_backward_that_reads_more_is_an_error_that_says_what():
    def backward(op, req, in_data, in_grad, **_):
        op.assign(in_grad[0], req[0], in_data[0] * 2)

    def depends(self, out_grad, in_data, out_data):
        return out_grad

    name = register("test_liar", copy_forward, backward, declare_backward_dependency=depends)
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward()
    with pytest.raises(
        InvalidArgumentError, match="'test_liar': backward reads 'data', which decl"
    ):
        x.grad.wait_to_read()


def test_a_loss_needs_no_gradient_of_its_output():
    def backward(op, req, in_data, in_grad, **_):
        op.assign(in_grad[0], req[0], in_data[0] - 1)

    def init(self):
        mx.operator.CustomOpProp.__init__(self, need_top_grad=False)

    name = register("test_loss", copy_forward, backward, __init__=init)
    executor = mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([3, 4]))
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [2, 3]
