"""Operators of MXNet's first generation."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

RNG = np.random.default_rng(5)


class Softmax(mx.operator.NumpyOp):
    """The softmax loss of MXNet's old tutorial."""

    def __init__(self):
        super().__init__(False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        assert isinstance(x, np.ndarray)
        assert not x.flags.writeable
        y[:] = np.exp(x - x.max(axis=1, keepdims=True))
        y /= y.sum(axis=1, keepdims=True)

    def backward(self, out_grad, in_data, out_data, in_grad):
        label = in_data[1].astype(int)
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(label.size), label] -= 1.0


class Copy(mx.operator.NDArrayOp):
    """As it is."""

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0]


def softmax(x):
    y = np.exp(x)
    return y / y.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("request_", ["write", "add"])
def test_an_operator_over_numpy_arrays(request_):
    with pytest.warns(UserWarning, match="Softmax has been deprecated"):
        op = Softmax()
    symbol = op(data=mx.sym.var("x") * 2, name="softmax")
    assert symbol.list_arguments() == ["x", "softmax_label"]
    executor = symbol.simple_bind(mx.cpu(), x=(4, 3), grad_req={"x": request_})
    x = RNG.normal(size=(4, 3)).astype("float32")
    label = np.array([0, 2, 1, 1])
    for step in (1, 2):
        executor.forward(is_train=True, x=mx.nd.array(x), softmax_label=mx.nd.array(label))
        executor.backward()
        wanted = softmax(2 * x)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), wanted, rtol=1e-5)
        slope = 2 * (wanted - np.eye(3)[label])
        factor = step if request_ == "add" else 1
        np.testing.assert_allclose(
            executor.grad_dict["x"].asnumpy(), factor * slope, rtol=1e-4, atol=1e-6
        )


def test_an_operator_over_arrays():
    with pytest.warns(UserWarning, match="deprecated"):
        symbol = Copy().get_symbol(mx.sym.var("x"))
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([3, 4]))
    executor.backward(mx.nd.array([5, 6]))
    assert executor.outputs[0].asnumpy().tolist() == [3, 4]
    assert executor.grad_dict["x"].asnumpy().tolist() == [5, 6]


def test_the_base_makes_no_symbol():
    with pytest.warns(UserWarning, match="deprecated"):
        op = mx.operator.PythonOp()
    assert (op.list_arguments(), op.list_outputs(), op.need_top_grad()) == (
        ["data"],
        ["output"],
        True,
    )
    with pytest.raises(NotImplementedError, match="get_symbol"):
        op(mx.sym.var("x"))


def test_views_are_for_functions_of_operations():
    a = mx.nd.array(np.arange(6).reshape(2, 3))
    with pytest.raises(mx.MXNetError, match="elsewhere use asnumpy"):
        mx.operator.numpy_view(a)

    def double():
        view = mx.operator.numpy_view(a[:, ::2])
        assert view.base is not None
        view *= 2

    mx.engine.push(double, mutable_vars=[a])
    np.testing.assert_array_equal(a.asnumpy(), [[0, 1, 4], [6, 4, 10]])
    failed = mx.engine.new_variable()
    mx.engine.push(double, const_vars=[a], mutable_vars=[failed])
    with pytest.raises(ValueError, match="read-only"):
        mx.engine.wait_for_var(failed)
