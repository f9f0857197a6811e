"""Layers of bytes on all kinds of shapes, with the largest numbers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

LOW = {"int8": -128, "uint8": 0}
HIGH = {"int8": 127, "uint8": 255}


def drawn(rng, shape, dtype):
    """Numbers of a type, the least and the greatest often among them."""
    low, high = LOW[dtype], HIGH[dtype]
    numbers = rng.integers(low, high + 1, shape)
    ends = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 0.5, ends, numbers).astype(dtype)


def ranges(count):
    return [mx.nd.array([end]) for _ in range(count) for end in (-1.0, 1.0)]


def convolution(data, weight, stride, pad, dilate):
    """By definition, in 64 bits."""
    axes = range(2, data.ndim)
    padded = np.pad(data.astype("int64"), [(0, 0), (0, 0), *[(p, p) for p in pad]])
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilate)]
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, tuple(axes))
    steps = tuple(slice(None, None, s) for s in stride)
    taps = tuple(slice(None, None, d) for d in dilate)
    windows = windows[(slice(None), slice(None), *steps, *taps)]
    inner = [1, *range(windows.ndim - len(axes), windows.ndim)]
    out = np.tensordot(windows, weight.astype("int64"), (inner, list(range(1, weight.ndim))))
    return np.moveaxis(out, -1, 1)


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("seed", range(60))
def test_convolutions_of_any_shape(seed, dtype):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 4))
    kernel = rng.integers(1, 4, rank)
    # Half of them move on one by one.
    stride = rng.integers(1, 4, rank) if seed % 2 else np.ones(rank, int)
    dilate, pad = rng.integers(1, 3, rank), rng.integers(0, 4, rank)
    least = (kernel - 1) * dilate + 1
    size = np.maximum(least - 2 * pad, 1) + rng.integers(0, 40 if rank == 2 else 6, rank)
    batch, channels, filters = rng.integers(1, 4), rng.integers(1, 11), rng.integers(1, 30)
    data = drawn(rng, (batch, channels, *size), dtype)
    weight = drawn(rng, (filters, channels, *kernel), "int8")
    bias = drawn(rng, (filters,), "int8")
    sizes = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad}
    attrs = {name: tuple(map(int, value)) for name, value in sizes.items()}
    out = mx.nd.contrib.quantized_conv(
        *(mx.nd.array(a, dtype=a.dtype) for a in (data, weight, bias)),
        *ranges(3),
        num_filter=int(filters),
        **attrs,
    )[0].asnumpy()
    wanted = convolution(data, weight, stride, pad, dilate)
    wanted += bias.astype("int64").reshape(-1, *[1] * rank)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize(
    ("rows", "depth", "hidden"), [(1, 1, 1), (13, 70, 45), (24, 64, 32), (3, 1000, 100), (40, 7, 3)]
)
def test_dense_layers_of_any_shape(rows, depth, hidden, dtype):
    rng = np.random.default_rng(rows)
    data, weight = drawn(rng, (rows, depth), dtype), drawn(rng, (hidden, depth), "int8")
    out = mx.nd.contrib.quantized_fully_connected(
        *(mx.nd.array(a, dtype=a.dtype) for a in (data, weight)),
        *ranges(2),
        num_hidden=hidden,
        no_bias=True,
    )[0].asnumpy()
    np.testing.assert_array_equal(out, data.astype("int64") @ weight.astype("int64").T)


def test_windows_beyond_a_wide_border():
    data, weight = np.full((1, 3, 2, 2), 7, "int8"), np.ones((2, 3, 1, 1), "int8")
    out = mx.nd.contrib.quantized_conv(
        *(mx.nd.array(a, dtype="int8") for a in (data, weight)),
        *ranges(2),
        kernel=(1, 1),
        pad=(300, 40),
        num_filter=2,
        no_bias=True,
    )[0].asnumpy()
    wanted = np.zeros((1, 2, 602, 82))
    wanted[:, :, 300:302, 40:42] = 21
    np.testing.assert_array_equal(out, wanted)


def test_bound_layers_keep_their_weights_while_these_stay():
    if mx.current_context() != mx.cpu():
        pytest.skip("kernels of the CPU keep weights")
    rng = np.random.default_rng(3)
    names = ["data", "weight", "data_min", "data_max", "weight_min", "weight_max"]
    symbols = [mx.sym.Variable(name) for name in names]
    net = mx.sym.contrib.quantized_fully_connected(*symbols, num_hidden=20, no_bias=True, name="q")
    data, weight = drawn(rng, (5, 30), "int8"), drawn(rng, (20, 30), "int8")
    args = [mx.nd.array(a, dtype="int8") for a in (data, weight)] + ranges(2)
    executor = net.bind(mx.cpu(), dict(zip(names, args)), grad_req="null")
    for _ in range(3):
        out = executor.forward(is_train=False)[0].asnumpy()
        np.testing.assert_array_equal(out, data.astype("int64") @ weight.astype("int64").T)
    assert executor.kernel_plan().kept > 0
    weight = drawn(rng, (20, 30), "int8")
    args[1][:] = mx.nd.array(weight, dtype="int8")
    out = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_array_equal(out, data.astype("int64") @ weight.astype("int64").T)


def pooled(data, kernel, stride, pad, kind, counted):
    """By definition; None where a window is empty."""
    axes = range(2, data.ndim)
    padded = np.pad(
        data.astype("float64"), [(0, 0), (0, 0), *[(p, p) for p in pad]], constant_values=np.nan
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, tuple(axes))
    windows = windows[(slice(None), slice(None), *(slice(None, None, s) for s in stride))]
    inner = tuple(range(windows.ndim - len(kernel), windows.ndim))
    if kind == "max":
        return np.nanmax(windows, inner)
    count = np.prod(kernel) if counted else (~np.isnan(windows)).sum(inner)
    return np.rint(np.float32(np.nansum(windows, inner)) / np.float32(count))


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("seed", range(40))
def test_pooling_of_any_shape(seed, dtype):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 4))
    kernel, stride = rng.integers(1, 5, rank), rng.integers(1, 4, rank)
    pad = [int(rng.integers(0, k)) for k in kernel]
    size = kernel + rng.integers(0, 12, rank)
    data = drawn(rng, (2, 3, *size), dtype)
    kind, counted = ("max", "avg")[seed % 2], bool(seed % 3)
    sizes = {"kernel": kernel, "stride": stride, "pad": pad}
    attrs = {name: tuple(map(int, value)) for name, value in sizes.items()}
    out = mx.nd.contrib.quantized_pooling(
        mx.nd.array(data, dtype=dtype),
        *ranges(1),
        pool_type=kind,
        count_include_pad=counted,
        **attrs,
    )[0].asnumpy()
    np.testing.assert_array_equal(out, pooled(data, kernel, stride, pad, kind, counted))
