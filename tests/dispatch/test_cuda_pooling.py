"""The CUDA sources of pooling, run on the host, give what the Rust kernels give."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from test_cuda_values import numpy_dtype

import ferromix as mx
from ferromix import dispatch
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
KINDS = {
    "max": {"pool_type": "max"},
    "avg": {"pool_type": "avg"},
    "sum": {"pool_type": "sum"},
    "squares": {"pool_type": "lp", "p_value": 2},
    "cubes": {"pool_type": "lp", "p_value": 3},
}
CASES = [
    ((2, 3, 9), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((2, 2, 7, 6), {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1)}),
    ((1, 2, 8, 7), {"kernel": (2, 3), "stride": (3, 2), "pooling_convention": "full"}),
    ((2, 1, 4, 5, 3), {"kernel": (2, 2, 2), "pad": (1, 0, 1)}),
    ((2, 3, 4, 5), {"kernel": (2, 2), "global_pool": True}),
    ((2, 5, 6, 3), {"kernel": (3, 3), "stride": (2, 2), "layout": "NHWC"}),
    ((1, 2, 6, 6), {"kernel": (3, 3), "pad": (2, 2), "count_include_pad": False}),
]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("pooling")


def pool_of(shape, out, attrs) -> ctypes.Structure:
    last = attrs.get("layout", "").endswith("C")
    rank = len(shape) - 2
    spatial = slice(1, 1 + rank) if last else slice(2, None)
    outer, inner = (shape[0], shape[-1]) if last else (shape[0] * shape[1], 1)
    whole = attrs.get("global_pool", False)
    kernel = shape[spatial] if whole else attrs["kernel"]
    stride = (1,) * rank if whole else attrs.get("stride", (1,) * rank)
    pad = (0,) * rank if whole else attrs.get("pad", (0,) * rank)
    axes = [(1, 1, 1, 1, 0)] * (3 - rank)
    axes += zip(shape[spatial], out[spatial], kernel, stride, pad, strict=True)
    words = [outer, inner, *(n for axis in axes for n in axis)]
    words.append(int(attrs.get("count_include_pad", True)))
    kind = type("Pool", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * len(words))]})
    return kind((ctypes.c_int64 * len(words))(*words))


def on_the_cpu(card, arrays):
    handles = [a.handle for a in arrays]
    return [mx.nd.NDArray(out).asnumpy() for out in dispatch.invoke(card, handles)]


def like(found, wanted, dtype, name):
    eps = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    found, wanted = (a.astype(np.float64) for a in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=8 * eps, atol=32 * eps, err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_are_those_of_the_cpu(kernels, kind, dtype):
    rng = np.random.default_rng(2)
    for shape, attrs in CASES:
        card = make("Pooling", {**KINDS[kind], **attrs})
        # Whole numbers, so that maxima are met more than once.
        x = rng.integers(-4, 5, shape).astype(numpy_dtype(dtype))
        data = mx.nd.array(x, dtype=dtype)
        (wanted,) = on_the_cpu(card, [data])
        out = np.zeros(wanted.shape, x.dtype)
        pool, write = pool_of(shape, wanted.shape, attrs), ctypes.c_int(1)
        kernels.launch(f"pooling_{kind}_{dtype}", (2,), (32,), x, out, pool, write)
        like(out, wanted, dtype, f"{kind} {shape} {attrs}")

        grad = rng.standard_normal(wanted.shape).astype(x.dtype)
        data.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Pooling(data, **{**KINDS[kind], **attrs})
        y.backward(mx.nd.array(grad, dtype=dtype))
        result = np.ones(shape, x.dtype)
        given = grad, x, out, result, pool
        entry = f"pooling_{kind}_backward_{dtype}"
        kernels.launch(entry, (3,), (32,), *given, ctypes.c_int(3))
        like(result, 1 + data.grad.asnumpy().astype(np.float64), dtype, f"{entry} {shape} {attrs}")
        kernels.launch(entry, (3,), (32,), *given, ctypes.c_int(0))
        like(result, 1 + data.grad.asnumpy().astype(np.float64), dtype, f"{entry} {shape} {attrs}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_stands_where_the_maxima_are(kernels, dtype):
    rng = np.random.default_rng(2)
    for shape, attrs in CASES:
        x = rng.integers(-4, 5, shape).astype(numpy_dtype(dtype))
        grad = rng.standard_normal(shape).astype(x.dtype)
        data, given = (mx.nd.array(a, dtype=dtype) for a in (x, grad))
        out = mx.nd.Pooling(data, pool_type="max", **attrs)
        card = make("_backward_backward_Pooling", {"pool_type": "max", **attrs})
        (wanted,) = on_the_cpu(card, [given, data, out])
        result = np.zeros(wanted.shape, x.dtype)
        pool, write = pool_of(shape, wanted.shape, attrs), ctypes.c_int(1)
        y = np.ascontiguousarray(out.asnumpy()).astype(x.dtype)
        kernels.launch(f"pooling_pick_{dtype}", (2,), (32,), grad, x, y, result, pool, write)
        np.testing.assert_array_equal(result, wanted.astype(x.dtype))


def test_windows_of_nan_and_of_padding_alone(kernels):
    x = np.array([[[np.nan, np.nan, 1, np.nan]]], np.float32)
    attrs = {"kernel": (2,), "stride": (2,), "pad": (1,)}
    wanted = mx.nd.Pooling(mx.nd.array(x), pool_type="max", **attrs).asnumpy()
    out = np.zeros_like(wanted)
    pool = pool_of(x.shape, wanted.shape, attrs)
    kernels.launch("pooling_max_float32", (1,), (4,), x, out, pool, ctypes.c_int(1))
    np.testing.assert_array_equal(out, wanted)
