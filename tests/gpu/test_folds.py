"""Reductions and softmax on a GPU, along all ways that their kernels take through memory."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10}


@pytest.fixture(autouse=True)
def _gpus_alone(monkeypatch):
    """A detour by the CPU is a warning, which fails here."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")


def arrays(shape, dtype, count=1):
    """On the GPU, and the numbers that they hold."""
    rng = np.random.default_rng(3)
    values = [rng.uniform(-2, 2, shape).astype(dtype) for _ in range(count)]
    return [mx.nd.array(x, ctx=GPU, dtype=dtype) for x in values], values


def behind(array):
    """The same in memory that starts one element behind a multiple of 16 bytes."""
    whole = mx.nd.concat(array.reshape(-1)[:1], array.reshape(-1), dim=0)
    return whole[1:].reshape(array.shape)


def close(found, wanted, dtype, size):
    assert races() == ""
    bound = 8 * EPS[dtype]
    np.testing.assert_allclose(found.asnumpy().astype(float), wanted, bound, bound * size)


FOLDS = [
    ((90, 112), None),
    ((7, 2048), 1),
    ((600, 64), 1),
    ((9, 1001), 1),
    ((3, 9000), 1),
    ((2050, 64), 0),
    ((3, 4096), 0),
    ((2000, 3), 0),
    ((5, 6, 14, 8), (0, 2, 3)),
    ((5, 6, 7, 7), (0, 2, 3)),
    ((5, 3, 40, 4), (0, 2)),
    ((4, 3, 4, 3, 8), (0, 2, 4)),
    ((4, 3, 4, 3, 8, 2), (0, 2, 4)),
]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize(("shape", "axis"), FOLDS)
def test_reductions(shape, axis, dtype):
    (x,), (values,) = arrays(shape, dtype)
    exact = values.astype(float)
    for data in (x, behind(x)):
        close(mx.nd.sum(data, axis=axis), exact.sum(axis), dtype, np.abs(exact).sum(axis).max())
        np.testing.assert_array_equal(mx.nd.max(data, axis=axis).asnumpy(), values.max(axis))
        norm = mx.nd.norm(data, axis=axis)
        close(norm, np.sqrt((exact * exact).sum(axis)), dtype, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_whole_numbers(dtype):
    values = np.random.default_rng(1).integers(0, 2, (40, 72)).astype(dtype)
    x = mx.nd.array(values, ctx=GPU, dtype=dtype)
    for axis in (None, 0, 1):
        found = mx.nd.sum(x, axis=axis).asnumpy()
        np.testing.assert_array_equal(found, values.sum(axis).astype(dtype))


def test_one_nan_is_found_wherever_it_is():
    for place in ((0, 0), (17, 63), (39, 71)):
        values = np.ones((40, 72), np.float32)
        values[place] = np.nan
        x = mx.nd.array(values, ctx=GPU)
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(mx.nd.max(x, axis=axis).asnumpy(), values.max(axis))
            np.testing.assert_array_equal(mx.nd.min(x, axis=axis).asnumpy(), values.min(axis))


def softmax(x, mask):
    inside = np.where(mask, x, -np.inf)
    inside = np.exp(inside - inside.max(-1, keepdims=True))
    return np.where(mask, inside / inside.sum(-1, keepdims=True), 0)


ROWS = [(70, 64), (9, 10), (5, 16), (3, 1000), (3, 1001), (2, 2500), (2, 2501), (1, 17000)]


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("shape", ROWS)
def test_softmax_of_rows(shape, dtype):
    (x, head), (values, slopes) = arrays(shape, dtype, 2)
    lengths = np.random.default_rng(2).integers(1, shape[1] + 1, shape[0])
    for masked in (False, True):
        mask = np.arange(shape[1]) < (lengths if masked else lengths * 0 + shape[1])[:, None]
        y = softmax(values.astype(float), mask)
        g = np.where(mask, slopes.astype(float), 0)
        g_x = (g - (g * y).sum(-1, keepdims=True)) * y
        g_log = np.where(mask, g - y * g.sum(-1, keepdims=True), 0)
        more = (mx.nd.array(lengths, ctx=GPU, dtype="int32"),) if masked else ()
        for data, by in ((x, head), (behind(x), behind(head))):
            data.attach_grad()
            with mx.autograd.record():
                found = mx.nd.softmax(data, *more, axis=-1, use_length=masked)
            found.backward(by)
            close(found, y, dtype, 0.1)
            close(data.grad, g_x, dtype, 1)
            if not masked:
                with mx.autograd.record():
                    found = mx.nd.log_softmax(data, axis=-1)
                found.backward(by)
                close(found, np.log(y), dtype, 1)
                close(data.grad, g_log, dtype, 4)


@pytest.mark.parametrize("width", [64, 63, 3000])
def test_infinite_elements_of_a_row(width):
    values = np.zeros((4, width), np.float32)
    values[0, : width // 2] = -np.inf
    values[1] = -np.inf
    values[2, -1] = np.nan
    values[3, 0] = np.inf
    with np.errstate(all="ignore"):
        wanted = softmax(values, np.ones(values.shape, bool))
    found = mx.nd.softmax(mx.nd.array(values, ctx=GPU), axis=-1).asnumpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)


HOT = [
    ([3e38, 1, 0], 0.5),
    ([1000.1, 1000.2, 1000.3], 0.01),
    ([1, 2, 3], 1e-40),
    ([1, 2, 3], -0.5),
    ([3e38, 1, 0], -0.5),
    ([1, 2, 3], np.inf),
]


@pytest.mark.parametrize(("values", "t"), HOT)
@pytest.mark.parametrize("times", [1, 21, 700])
@pytest.mark.parametrize("strided", [False, True])
def test_temperatures(values, t, times, strided):
    """The highest element comes off before the division, which may overflow."""
    row = np.tile(np.float32(values), times)
    data = np.stack([row, row[::-1]]).copy()
    x = mx.nd.array(data.T.copy() if strided else data, ctx=GPU)
    axis = 0 if strided else 1
    wide, t = data.astype(float), float(np.float32(t))
    top = wide.max(1, keepdims=True) if t > 0 else wide.min(1, keepdims=True)
    y = softmax((wide - top) / t, np.ones(data.shape, bool))
    with np.errstate(all="ignore"):
        log = (wide - top) / t
        log = (log - np.log(np.exp(log).sum(1, keepdims=True))).astype(np.float32)
    head = np.cos(np.arange(data.size)).reshape(data.shape).astype(np.float32)
    with np.errstate(all="ignore"):
        slope = (y * (head - (head * y).sum(1, keepdims=True)) / t).astype(np.float32)
    for name, by in (("softmax", t), ("softmin", -t), ("log_softmax", t)):
        x.attach_grad()
        with mx.autograd.record():
            found = getattr(mx.nd, name)(x, axis=axis, temperature=by)
        found.backward(mx.nd.array(head.T.copy() if strided else head, ctx=GPU))
        assert races() == ""
        assert x.grad is not None
        found, grad = found.asnumpy(), x.grad.asnumpy()
        if strided:
            found, grad = found.T, grad.T
        np.testing.assert_allclose(found, log if name == "log_softmax" else y, 2e-5, 1e-7)
        if name == "softmax" and abs(t) > 1e-30:  # else rounding is divided by nearly nothing
            np.testing.assert_allclose(grad, slope, 1e-4, 1e-5)
        elif times == 1:
            assert not np.isnan(grad).any()


def test_an_infinite_temperature_leaves_out_what_is_behind_the_length():
    x = mx.nd.array(np.zeros((2, 3000)), ctx=GPU)
    lengths = mx.nd.array([1000, 3000], ctx=GPU, dtype="int32")
    found = mx.nd.softmax(x, lengths, use_length=True, temperature=np.inf).asnumpy()
    np.testing.assert_allclose(found.sum(1), 1, 1e-5)
    assert not found[0, 1000:].any()
