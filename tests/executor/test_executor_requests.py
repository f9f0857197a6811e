"""Executors: what is asked of gradients, modes, and gradients of outputs that are given."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, InvalidArgumentError

S = mx.sym


def array(*values, dtype="float32"):
    return mx.nd.array(np.array(values), dtype=dtype)


def product():
    return S.Variable("a") * S.Variable("b")


# -- requests and modes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grad_req", "wanted"),
    [
        (None, set()),
        ({}, set()),
        ({"a": "write"}, {"a"}),
        ({"a": "add", "nope": "write"}, {"a"}),
        ({"nope": "write"}, set()),
        (["null", "write"], {"b"}),
        (("write", "add"), {"a", "b"}),
    ],
)
def test_requests_by_name_and_in_order(grad_req, wanted):
    executor = product().simple_bind(mx.cpu(), grad_req, a=(2,))
    assert {n for n, g in executor.grad_dict.items() if g is not None} == wanted
    args, grads = {"a": array(2), "b": array(3)}, {"a": array(7), "b": array(7)}
    executor = product().bind(mx.cpu(), args, grads, grad_req)
    executor.forward(is_train=True)
    executor.backward(array(1))
    assert {n for n, g in grads.items() if g.item() != 7} == wanted


def test_backward_of_prediction_after_a_training_forward():
    net = S.BatchNorm(S.Variable("x"), fix_gamma=False, eps=1e-3, name="bn")
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    x = np.arange(8, dtype="float32").reshape(4, 2) ** 1.5
    dy = np.random.default_rng(0).standard_normal((4, 2)).astype("float32")
    executor.arg_dict["bn_gamma"][:] = 2
    executor.forward(is_train=True, x=x)
    executor.backward(mx.nd.array(dy))
    training = executor.grad_dict["x"].asnumpy()
    executor.backward(mx.nd.array(dy), is_train=False)
    found = executor.grad_dict["x"].asnumpy()
    np.testing.assert_allclose(found, 2 * dy / np.sqrt(x.var(0) + 1e-3), rtol=1e-5)
    executor.backward(mx.nd.array(dy))
    assert (executor.grad_dict["x"].asnumpy() == training).all()


def test_reshape_passes_over_other_names():
    executor = product().simple_bind(mx.cpu(), a=(4,)).reshape(a=(2,), b=(2,), nope=(3,))
    assert executor.arg_dict["a"].shape == (2,)


# -- gradients of outputs --------------------------------------------------------------------------


def test_gradients_of_outputs_that_are_too_many_or_too_few():
    x = np.array([[1, 2], [3, 4]], "float32")
    net = S.SliceChannel(S.Variable("x"), num_outputs=2, axis=1, name="slice")
    executor = net.simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=x)
    left, right = mx.nd.array([[1], [2]]), mx.nd.array([[3], [4]])
    for given in ([left, right], (left, right), [left, right, left], [left, right, None]):
        executor.grad_dict["x"][:] = 0
        executor.backward(given)
        assert executor.grad_dict["x"].asnumpy().tolist() == [[1, 3], [2, 4]]
    for given in (None, [], left, [left], [None, right], {"slice_output0": left}):
        with pytest.raises(InvalidArgumentError, match=r"'slice_output\d' is no loss"):
            executor.backward(given)
    for given in (3, [left, 3], [left, right, 3], [left, np.ones((2, 1))]):
        with pytest.raises(DTypeError, match="out_grads must be an NDArray"):
            executor.backward(given)


def test_statistics_as_outputs_need_no_gradient():
    x = np.random.default_rng(0).standard_normal((4, 2)).astype("float32")
    net = S.BatchNorm(S.Variable("x"), fix_gamma=False, output_mean_var=True, name="bn")
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    executor.arg_dict["bn_gamma"][:] = 1
    outputs = executor.forward(is_train=True, x=x)
    assert len(outputs) == 3
    grads = [mx.nd.array(x), *(mx.nd.ones((2,)) for _ in range(2))]
    found = []
    for given in (grads, grads[:1], [grads[0], None, None], grads[0]):
        executor.backward(given)
        found.append(executor.grad_dict["bn_beta"].asnumpy())
    np.testing.assert_allclose(found, [x.sum(0)] * 4, rtol=1e-5)
