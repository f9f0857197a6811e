"""Numbers of eight bits, more than a block or a tile has, are the CPU's, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
END = np.ones(1, np.float32)
SIGNED = pytest.mark.parametrize("dtype", ["int8", "uint8"])


def same(operator, inputs, **attrs):
    """Each output on the GPU is that of the CPU."""
    found = [
        operator(*[mx.nd.array(x, ctx=c, dtype=x.dtype) for x in inputs], **attrs)
        for c in (GPU, mx.cpu())
    ]
    ours, wanted = [x if isinstance(x, list) else [x] for x in found]
    for a, b in zip(ours, wanted, strict=True):
        assert a.ctx == GPU
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert races() == ""


def drawn(dtype, *shape):
    kind = np.iinfo(dtype)
    return np.random.default_rng(len(shape)).integers(kind.min, kind.max + 1, shape).astype(dtype)


def ends(*magnitudes):
    return [sign * np.float32(m) * END for m in magnitudes for sign in (-1, 1)]


@SIGNED
@pytest.mark.parametrize("first", [0.25, np.nan])
def test_real_numbers(dtype, first):
    x = np.random.default_rng(1).uniform(-3, 2, 70_001).astype(np.float32)
    x[0], x[999], x[40_000], x[50_000] = first, np.nan, np.inf if first > 0 else 1, -7
    same(mx.nd.contrib.quantize_v2, [x], out_type=dtype)
    same(mx.nd.contrib.quantize_v2, [x[:5000]], out_type=dtype)
    same(mx.nd.contrib.quantize, [x, *ends(2.5)], out_type=dtype)
    same(mx.nd.contrib.quantize_asym, [x[1:900]])
    same(mx.nd.contrib.dequantize, [drawn(dtype, 3001), *ends(2.5)])


@SIGNED
@pytest.mark.parametrize("given", [{}, {"min_calib_range": -1e-3, "max_calib_range": 2e-3}])
def test_sums(dtype, given):
    x = np.random.default_rng(2).integers(-(2**31), 2**31, 9000).astype(np.int32)
    x[5] = -(2**31)
    same(mx.nd.contrib.requantize, [x, *ends(3.5)], out_type=dtype, **given)
    same(mx.nd.contrib.requantize, [x[:0], *ends(3.5)], out_type=dtype, **given)


def test_more_tensors_than_a_launch_joins():
    parts = [drawn(("int8", "uint8")[k % 2], 2, k % 3 + 1, 5) for k in range(40)]
    ranges = ends(*np.linspace(0.5, 4, 40))
    same(mx.nd.contrib.quantized_concat, [*parts, *ranges], num_args=40, dim=1)
    same(mx.nd.contrib.quantized_concat, [*parts[1::2], *ends(*[1] * 20)], num_args=20, dim=1)


@SIGNED
def test_normalization(dtype):
    x, (gamma, beta, mean) = drawn(dtype, 3, 5, 70), np.random.default_rng(3).normal(size=(3, 5))
    statistics = [a.astype(np.float32) for a in (gamma, beta, mean, mean**2 + 0.5)]
    given = {"min_calib_range": -4.0, "max_calib_range": 40.0}
    same(mx.nd.contrib.quantized_batch_norm, [x, *statistics, *ends(2.0)], **given)


@SIGNED
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("counted", [True, False])
def test_windows(dtype, kind, counted):
    given = {"kernel": (3, 4), "stride": (2, 3), "pad": (1, 2), "pooling_convention": "full"}
    given |= {"pool_type": kind, "count_include_pad": counted}
    same(mx.nd.contrib.quantized_pooling, [drawn(dtype, 2, 3, 17, 19), *ends(2.0)], **given)


@SIGNED
@pytest.mark.parametrize("shape", [(70, 90, 76), (65, 64, 33), (3, 200, 5), (1, 2, 70_000)])
def test_connected(dtype, shape):
    """Of words and of bytes, of several tiles, and with sums that wrap around."""
    rows, hidden, depth = shape
    data, weight = drawn(dtype, rows, depth), drawn("int8", hidden, depth)
    if depth > 1000:
        data[:], weight[:] = -128 if dtype == "int8" else 255, -128
    given = {"num_hidden": hidden}
    same(
        mx.nd.contrib.quantized_fully_connected, [data, weight, *ends(2, 3)], no_bias=True, **given
    )
    more = [drawn("int8", hidden), *ends(2, 3, 4)]
    same(mx.nd.contrib.quantized_fully_connected, [data, weight, *more], **given)


@SIGNED
@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "attrs"),
    [
        (6, 70, (3, 3), {"pad": (1, 1)}),
        (8, 40, (1, 1), {}),
        (3, 5, (2, 3), {"stride": (2, 1), "dilate": (2, 2), "pad": (2, 0)}),
    ],
)
def test_convolution(dtype, channels, filters, kernel, attrs):
    data, weight = drawn(dtype, 2, channels, 9, 11), drawn("int8", filters, channels, *kernel)
    given = {"kernel": kernel, "num_filter": filters, **attrs}
    same(mx.nd.contrib.quantized_conv, [data, weight, *ends(2, 3)], no_bias=True, **given)
    same(
        mx.nd.contrib.quantized_conv,
        [data, weight, drawn("int8", filters), *ends(2, 3, 4)],
        **given,
    )


@pytest.mark.parametrize("given", [{}, {"min_calib_range": -0.5, "max_calib_range": 0.25}])
def test_pairs_beyond_the_range(given):
    for left in ("int8", "uint8"):
        pair = [drawn(left, 70, 9), drawn("int8", 70, 9), *ends(2, 3)]
        same(mx.nd.contrib.quantized_elemwise_add, pair, **given)
    pair[0] = pair[1][::-1].copy()
    same(mx.nd.contrib.quantized_elemwise_mul, pair, **given)
    pair[3] = np.nan * END  # magnitudes are those of the other end, or none
    pair[2] = np.nan * END
    same(mx.nd.contrib.quantized_elemwise_mul, pair, **given)
    same(mx.nd.contrib.quantized_elemwise_add, pair, **given)
