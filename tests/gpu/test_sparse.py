"""Sparse arrays on a GPU give what they give on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU, CPU = mx.gpu(0), mx.cpu()
OPTIMIZERS = {
    "sgd": {},
    "sgd with momentum": {"momentum": 0.9},
    "adam": {},
    "ftrl": {},
    "adagrad": {},
    "group_adagrad": {},
}


def rows_of(values, rows, shape, context):
    """A row_sparse array."""
    return mx.nd.sparse.row_sparse_array((values, rows), shape=shape, ctx=context)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("shape", [(50, 3), (900, 7), (4, 600)])
def test_optimizers(name, shape):
    weights = []
    for context in (CPU, GPU):
        rng = np.random.default_rng(1)
        weight = mx.nd.array(rng.standard_normal(shape).astype("float32"), context)
        weight = weight.tostype("row_sparse")
        kind = name.split()[0].replace("group_", "group")
        optimizer = mx.optimizer.create(kind, learning_rate=0.1, **OPTIMIZERS[name])
        state = optimizer.create_state(0, weight)
        for step in range(3):
            rows = np.flatnonzero(rng.random(shape[0]) < 0.2 * (step + 1))
            grad = rng.standard_normal((len(rows), *shape[1:])).astype("float32")
            optimizer.update(0, weight, rows_of(grad, rows, shape, context), state)
        assert weight.context == context
        weights.append(weight.asnumpy())
    np.testing.assert_allclose(*weights, rtol=1e-5, atol=1e-6)
    assert races() == ""


def on_both(run):
    """What a function of a context gives on the CPU and on a GPU."""
    found, expected = run(GPU), run(CPU)
    assert races() == ""
    return found, expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize("shape", [(50, 3), (3000, 8), (4, 2, 300)])
def test_rows(dtype, shape):
    def run(context):
        rng = np.random.default_rng(2)
        arrays = []
        for share in (0.1, 0.5):
            rows = np.flatnonzero(rng.random(shape[0]) < share)
            values = rng.integers(-9, 10, (len(rows), *shape[1:])).astype(dtype)
            arrays.append(rows_of(values, rows, shape, context))
        dense = mx.nd.array(rng.integers(-9, 10, shape), context, dtype)
        a, b = arrays
        kept = mx.nd.array(rng.permutation(shape[0])[:20], context)
        found = [a.tostype("default"), a + b, a * b, mx.nd.sparse.retain(b, kept), b * dense]
        return [x.asnumpy() for x in found]

    for a, b in zip(*on_both(run), strict=True):
        np.testing.assert_array_equal(a, b)


def test_embedding():
    def run(context):
        rng = np.random.default_rng(3)
        weight = mx.nd.array(rng.standard_normal((900, 5)), context).tostype("row_sparse")
        weight.attach_grad(stype="row_sparse")
        numbers = mx.nd.array(rng.integers(0, 900, (40, 30)), context)
        with mx.autograd.record():
            out = mx.nd.Embedding(numbers, weight, input_dim=900, output_dim=5, sparse_grad=True)
            loss = (out * out).sum()
        loss.backward()
        return [x.asnumpy() for x in (out, weight.grad, weight.grad.indices)]

    for a, b in zip(*on_both(run), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(60, 40), (3, 5000), (4000, 9)])
def test_matrices(dtype, shape):
    def run(context):
        rng = np.random.default_rng(4)
        dense = rng.integers(-9, 10, shape) * (rng.random(shape) < 0.05)
        csr = mx.nd.array(dense, context, dtype).tostype("csr")
        found = [csr.tostype("default"), csr.sum(axis=1), csr * mx.nd.ones(shape, context, dtype)]
        for width in (1, 3, 40):
            right, other = (
                mx.nd.array(rng.integers(-3, 4, (n, width)), context, dtype) for n in shape[::-1]
            )
            found += [mx.nd.dot(csr, right), mx.nd.dot(csr, other, transpose_a=True)]
            found.append(mx.nd.dot(csr, other, transpose_a=True, forward_stype="default"))
        return [x.asnumpy() for x in found]

    for a, b in zip(*on_both(run), strict=True):
        np.testing.assert_array_equal(a, b)  # whole numbers, so that any order gives the same sums


def test_what_is_wrong_is_refused():
    """The host is told where it waits."""
    wrong = rows_of(np.ones((2, 3), "float32"), [1, 9], (5, 3), GPU)
    with pytest.raises(mx.MXNetError, match="has a row 9, but there are 5 rows"):
        wrong.asnumpy()
    parts = np.ones(3, "float32"), [0, 7, 1], [0, 2, 3]
    csr = mx.nd.sparse.csr_matrix(parts, shape=(2, 5), ctx=GPU)
    with pytest.raises(mx.MXNetError, match="an element in column 7, but there are 5 columns"):
        mx.nd.dot(csr, mx.nd.ones((5, 2), GPU)).asnumpy()
    table = mx.nd.ones((4, 3), GPU).tostype("row_sparse")
    with pytest.raises(mx.MXNetError, match="number 4 is not that of a row"):
        mx.nd.Embedding(mx.nd.array([1, 4], GPU), table, input_dim=4, output_dim=3).asnumpy()
    mx.nd.waitall()
    assert races() == ""
