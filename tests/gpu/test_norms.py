"""Norms whose blocks share channels or rows give what the CPU gives."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import gpu
from ferromix.dispatch.recipe import Limits

from .device import HOST, races

TOLERANCES = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-2, "bfloat16": 2e-1}
IMAGES = [(4, 2, 96, 50), (3, 5, 7, 7), (2, 9, 14, 14), (1, 3, 40, 500), (70, 2, 3)]
ROWS = [(300, 64), (37, 5), (20, 100), (11, 1024), (9, 1003), (5, 9000), (80, 2100), (2, 3, 7)]


@pytest.fixture(autouse=True)
def _gpus_alone(monkeypatch):
    """A detour by the CPU is a warning, which fails here."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")


@pytest.fixture(params=[Limits(1, 32), Limits(132, 256)] if HOST else [None])
def more(request, monkeypatch):
    """With the limits of a host, and of a large GPU: more rows, so that no recipe is kept."""
    if request.param is not None:
        monkeypatch.setattr(gpu, "limits", lambda number: request.param)
    return int(request.param == Limits(132, 256))


def trained(ctx, name, arrays, head, dtype, skip, attrs):
    """Outputs and gradients; arrays lie `skip` elements behind the start of their memory."""
    given = []
    for kind, values in arrays:
        values = np.concatenate([np.zeros(skip), values.reshape(-1)]).astype("float64")
        whole = mx.nd.array(values, ctx=ctx, dtype="float32" if kind == "own" else dtype)
        shape = next(v.shape for k, v in arrays if v.size == values.size - skip and k == kind)
        given.append(whole[skip:].reshape(shape))
        given[-1].attach_grad()
    with mx.autograd.record():
        outs = getattr(mx.nd, name)(*given, output_mean_var=True, **attrs)
    outs[0].backward(mx.nd.array(head, ctx=ctx, dtype=dtype))
    grads = [x.grad for x in given[:3]]
    return [x.astype("float64").asnumpy() for x in (*outs, *grads)]


def compare(name, arrays, dtype, skip, **attrs):
    head = np.random.default_rng(2).normal(size=arrays[0][1].shape)
    runs = [trained(c, name, arrays, head, dtype, skip, attrs) for c in (mx.gpu(0), mx.cpu())]
    assert races() == ""
    close = TOLERANCES[dtype]
    for k, (found, expected) in enumerate(zip(*runs, strict=True)):
        most = np.abs(expected).max() if expected.size else 0
        np.testing.assert_allclose(found, expected, close, close * max(1, most), err_msg=str(k))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", IMAGES, ids=str)
@pytest.mark.parametrize("skip", [0, 1])
def test_channels(more, shape, dtype, skip):
    rng, shape = np.random.default_rng(1), (shape[0] + more, *shape[1:])
    c = shape[1]
    small = [rng.normal(size=c), rng.normal(size=c), np.zeros(c), np.ones(c)]
    kind = "own" if dtype.endswith("16") else "all"
    data = [("all", rng.normal(size=shape) + 3), *[(kind, x) for x in small]]
    compare("BatchNorm", data, dtype, skip, fix_gamma=False)


@pytest.mark.parametrize("mean", [1e6, -1e8])
def test_a_mean_far_from_zero(more, mean):
    near = np.random.default_rng(3).normal(size=(4 + more, 2, 90, 60))
    data = (mean + abs(mean) * 1e-5 * near).astype("float32")
    x, one, zero = (mx.nd.array(v, ctx=mx.gpu(0)) for v in (data, np.ones(2), np.zeros(2)))
    with mx.autograd.record():
        found = mx.nd.BatchNorm(x, one, zero, zero.copy(), one.copy(), eps=0, output_mean_var=True)
    wide = data.astype("float64")
    np.testing.assert_allclose(found[1].asnumpy(), wide.mean((0, 2, 3)), 1e-7)
    np.testing.assert_allclose(found[2].asnumpy(), 1 / wide.std((0, 2, 3)), 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("skip", [0, 1])
def test_rows(more, shape, dtype, skip):
    rng, shape = np.random.default_rng(1), (shape[0] + more, *shape[1:])
    n = shape[-1]
    data = [rng.normal(size=shape) + 3, rng.normal(size=n), rng.normal(size=n)]
    compare("LayerNorm", [("all", x) for x in data], dtype, skip, axis=-1)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("count", [3, 1024, 5003])
@pytest.mark.parametrize("skip", [0, 1])
def test_dropped_elements(more, count, dtype, skip):
    """Whatever packs they lie in, the CPU drops the same."""
    found = []
    for ctx in (mx.gpu(0), mx.cpu()):
        mx.random.seed(7)
        x = mx.nd.arange(1, count + more + skip + 1, ctx=ctx).astype(dtype)[skip:]
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Dropout(x, p=0.25)
        y.backward()
        grad = x.grad
        assert grad is not None
        found.append([a.astype("float64").asnumpy() for a in (y, grad)])
    assert races() == ""
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("value", [123456.7, 1000.1, 0.1])
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("length", [3, 7, 64, 100, 1000, 1501, 9000])
def test_constant_rows_are_zero(more, length, axis, value):
    """What rounding leaves of the mean is not divided by a deviation of nearly nothing."""
    shape = (2 + more, length) if axis else (length, 2 + more)
    x = mx.nd.full(shape, value, ctx=mx.gpu(0))
    one, zero = mx.nd.ones(length, ctx=mx.gpu(0)), mx.nd.zeros(length, ctx=mx.gpu(0))
    one.attach_grad()
    with mx.autograd.record():
        found = mx.nd.LayerNorm(x, one, zero, axis=axis, eps=1e-5, output_mean_var=True)
    found[0].backward()
    assert races() == ""
    assert not found[0].asnumpy().any()
    assert one.grad is not None
    assert not one.grad.asnumpy().any()
    np.testing.assert_array_equal(found[1].asnumpy(), np.float32(value))


@pytest.mark.parametrize("name", ["InstanceNorm", "GroupNorm"])
@pytest.mark.parametrize("size", [3, 1000, 40000])
def test_constant_images_are_zero(more, name, size):
    count, attrs = (2, {"num_groups": 2}) if name == "GroupNorm" else (4, {})
    x = mx.nd.full((1 + more, 4, size), 1000.1, ctx=mx.gpu(0))
    one, zero = mx.nd.ones(count, ctx=mx.gpu(0)), mx.nd.zeros(count, ctx=mx.gpu(0))
    found = getattr(mx.nd, name)(x, one, zero, eps=1e-5, **attrs)
    assert races() == ""
    assert not found.asnumpy().any()


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("length", [7, 100, 1000])
def test_rows_far_from_zero(more, length, axis):
    near = np.random.default_rng(3).normal(size=(3 + more, length))
    data = (1e6 + near).astype("float32")
    x = mx.nd.array(data if axis else data.T.copy(), ctx=mx.gpu(0))
    one, zero = mx.nd.ones(length, ctx=mx.gpu(0)), mx.nd.zeros(length, ctx=mx.gpu(0))
    found = mx.nd.LayerNorm(x, one, zero, axis=axis, eps=1e-5).asnumpy()
    wide = data.astype(float)
    wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found if axis else found.T, wanted, 1e-4, 1e-4)
