"""What is chosen by chance on a GPU is what the CPU chooses with the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

from .device import races

GPU = mx.gpu(0)
CONTEXTS = (GPU, mx.cpu())
TYPES = ["float32", "float64", "float16", "bfloat16"]


@pytest.fixture(autouse=True)
def _gpus_alone(monkeypatch):
    """A detour by the CPU is a warning, which fails here."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")


def pairs(draw, seed=3):
    """The arrays that a function of a device makes, from both."""
    found = []
    for ctx in CONTEXTS:
        mx.random.seed(seed)
        found.append([x.astype("float64").asnumpy() for x in draw(ctx)])
    assert races() == ""
    return zip(*found, strict=True)


def weights(rows, classes):
    """Probabilities, of which some are zero."""
    found = np.random.default_rng(5).uniform(0, 1, (rows, classes))
    found[:, ::7] = 0
    found[:, -1] = 0
    found[:, 1] = 3
    return found


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "classes", "per"), [(3, 3, 400), (2, 700, 50), (70, 5, 2)])
def test_classes(rows, classes, per, dtype):
    def draw(ctx):
        data = mx.nd.array(weights(rows, classes), ctx=ctx, dtype=dtype)
        data.attach_grad()
        with mx.autograd.record():
            found, logs = mx.nd.sample_multinomial(data, shape=(per,), get_prob=True)
        logs.backward(mx.nd.arange(1, rows * per + 1, ctx=ctx).reshape((rows, per)).astype(dtype))
        return found, logs, data.grad

    (found, expected), logs, grads = pairs(draw)
    np.testing.assert_array_equal(found, expected)
    bits = {"float64": 1e-12, "float32": 1e-4, "float16": 2e-2, "bfloat16": 0.1}[dtype]
    for pair in (logs, grads):
        np.testing.assert_allclose(*pair, rtol=bits)


@pytest.mark.parametrize("row", [[0, 0], [-1, 2], [np.nan, 1], [np.inf, 1]])
def test_rows_without_probabilities(row):
    rows = mx.nd.array([[0, 1], row], ctx=GPU)
    with pytest.raises(InvalidArgumentError, match="row 1 of data holds no probabilities"):
        mx.nd.sample_multinomial(rows, get_prob=True)[0].wait_to_read()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("train", [False, True])
def test_slopes(train, dtype):
    x = np.random.default_rng(1).normal(0, 1, (37, 21))

    def draw(ctx):
        data = mx.nd.array(x, ctx=ctx, dtype=dtype)
        data.attach_grad()
        with mx.autograd.record(train_mode=train):
            out, slopes = mx.nd.LeakyReLU(data, act_type="rrelu")
        out.backward()
        return out, slopes, data.grad

    for pair in pairs(draw):
        np.testing.assert_array_equal(*pair)


@pytest.mark.parametrize(("range_max", "shape"), [(40, (3, 40)), (9, (2, 0)), (5000, (4, 700))])
def test_different_classes(range_max, shape):
    def draw(ctx):
        with ctx:
            return mx.nd._internal._sample_unique_zipfian(range_max=range_max, shape=shape)

    (found, expected), tries = pairs(draw)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(*tries)
    assert all(len(set(row)) == shape[1] for row in found)


@pytest.mark.parametrize("n", [0, 1, 2, 1000, 32_768, 32_769, 70_003])
def test_orders(n):
    """The same in one bucket, and in many."""
    (pair,) = pairs(lambda ctx: [mx.nd.shuffle(mx.nd.arange(n, ctx=ctx, dtype="int32"))])
    np.testing.assert_array_equal(*pair)
    np.testing.assert_array_equal(np.sort(pair[0]), np.arange(n))
