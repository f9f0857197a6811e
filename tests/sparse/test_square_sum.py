"""Factorization machines: sums of squares of the rows of a weight, whose gradient has few rows."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

S = mx.sym
DATA = np.zeros((2, 6), np.float32)
DATA[0, 1], DATA[1, 3] = 1, 2
WEIGHT = np.arange(1, 19, dtype=np.float32).reshape(6, 3)
# Of the sum of dot(DATA ** 2, sums of squares): the gradient is 2 * weight * (sums of columns).
WANTED = 2 * WEIGHT * (DATA**2).sum(0)[:, None]


def csr():
    return mx.nd.array(DATA).tostype("csr")


def weight():
    return mx.nd.array(WEIGHT).tostype("row_sparse")


def square_sum(where, weight, **attrs):
    return where._internal._square_sum(weight, axis=1, **attrs)


@pytest.mark.parametrize("both", [False, True])
def test_a_bound_gradient_has_the_rows_of_the_data(both):
    x, v = S.var("x", stype="csr"), S.var("v", stype="row_sparse")
    heads = [S.dot(S.square(x), square_sum(S, v, keepdims=True))]
    heads += [S.dot(x, v)] if both else []
    grad = mx.nd.sparse.zeros("row_sparse", (6, 3))
    bound = S.Group(heads).bind(
        mx.cpu(), {"x": csr(), "v": weight()}, {"v": grad}, {"v": "write", "x": "null"}
    )
    outputs = bound.forward(is_train=True)
    np.testing.assert_allclose(
        outputs[0].asnumpy(), (DATA**2) @ (WEIGHT**2).sum(1, keepdims=True), rtol=1e-6
    )
    bound.backward([mx.nd.ones(out.shape) for out in outputs])
    assert grad.indices.asnumpy().tolist() == [1, 3]
    wanted = WANTED + (DATA.sum(0)[:, None] if both else 0)
    np.testing.assert_allclose(grad.asnumpy(), wanted, rtol=1e-6)


def test_a_recorded_gradient_has_the_rows_of_the_data():
    v = weight()
    v.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = mx.nd.dot(csr() * csr(), square_sum(mx.nd, v, keepdims=True))
    out.backward()
    assert v.grad.indices.asnumpy().tolist() == [1, 3]
    np.testing.assert_allclose(v.grad.asnumpy(), WANTED, rtol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
def test_a_dense_gradient_of_the_sum_gives_all_rows_that_are_stored(keepdims):
    v = mx.nd.array(WEIGHT * (np.arange(6) % 2)[:, None]).tostype("row_sparse")
    v.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = square_sum(mx.nd, v, keepdims=keepdims)
        total = out.sum()
    np.testing.assert_array_equal(out.asnumpy(), (v.asnumpy() ** 2).sum(1, keepdims=keepdims))
    total.backward()
    assert v.grad.indices.asnumpy().tolist() == [1, 3, 5]
    np.testing.assert_array_equal(v.grad.asnumpy(), 2 * v.asnumpy())


def test_lazy_steps_leave_the_other_rows():
    x, v = S.var("data", stype="csr"), S.var("v", shape=(6, 3), stype="row_sparse")
    out = S.dot(S.square(x), square_sum(S, v, keepdims=True))
    out = S.LinearRegressionOutput(out, S.var("label"), name="out")
    module = mx.mod.Module(out, data_names=["data"], label_names=["label"])
    module.bind([("data", (2, 6))], [("label", (2, 1))])
    module.init_params(arg_params={"v": mx.nd.array(WEIGHT)}, aux_params={})
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.5, "wd": 0.1})
    module.forward_backward(mx.io.DataBatch([csr()], [mx.nd.zeros((2, 1))]))
    module.update()
    found = module.get_params()[0]["v"].asnumpy()
    np.testing.assert_array_equal(found[[0, 2, 4, 5]], WEIGHT[[0, 2, 4, 5]])
    np.testing.assert_allclose(found[[1, 3]], WEIGHT[[1, 3]] - 0.5, rtol=1e-5)


def test_operators_made_of_others_take_sparse_arrays_on_the_tape(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    a = mx.nd.array([[1, 0], [0, 0], [2, 3]]).tostype("row_sparse")
    a.attach_grad()
    with mx.autograd.record():
        out = mx.nd.SoftmaxActivation(a)
    out.backward()
    dense = mx.nd.array([[1, 0], [0, 0], [2, 3]])
    dense.attach_grad()
    with mx.autograd.record():
        wanted = mx.nd.SoftmaxActivation(dense)
    wanted.backward()
    np.testing.assert_array_equal(out.asnumpy(), wanted.asnumpy())
    np.testing.assert_array_equal(a.grad.asnumpy(), dense.grad.asnumpy())


@pytest.mark.parametrize("rows", [[], [1, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_of_row_sparse_arrays(rows, axis, exclude, keepdims):
    values = np.zeros((4, 3, 2), np.float32)
    values[rows] = np.arange(len(rows) * 6).reshape(-1, 3, 2) + 1
    sparse = mx.nd.array(values).tostype("row_sparse")
    sparse.attach_grad()
    attrs = {"axis": axis, "exclude": exclude, "keepdims": keepdims}
    with mx.autograd.record():
        found = mx.nd.sum(sparse, **attrs)
    wanted = mx.nd.sum(mx.nd.array(values), **attrs)
    assert found.stype == "default"
    np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
    found.backward()
    np.testing.assert_array_equal(sparse.grad.asnumpy(), np.ones_like(values))
