"""Products of bfloat16 against double precision: single sums, rounded once, on any CPU.

On a GPU what follows a convolution is rounded by each operator, as where each runs alone."""

import os
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

HALF, SINGLE = 2.0**-8, 2.0**-24
"""The relative errors of rounding to bfloat16 and to single precision."""
LEAST = 2.0**-126
"""What is less counts as nothing in products of pairs."""

CPUS = Path("/proc/cpuinfo")
WHOLE = os.environ.get("FERROMIX_ISA") not in ("avx2", "base")
PAIRS = CPUS.exists() and " avx512_bf16" in CPUS.read_text() and WHOLE


def half(values):
    """An array of bfloat16, and the numbers that it holds."""
    array = mx.nd.array(values, dtype="bfloat16")
    return array, array.astype("float32").asnumpy().astype("float64")


def draw(shape, seed):
    return half(np.random.default_rng(seed).uniform(-2, 2, shape))


def check(found, want, sizes, depth, between=0.0):
    """Whether what differs is one rounding, those of sums and of magnitudes `between` operators.

    `sizes` are the magnitudes that sums round.
    """
    found = found.astype("float32").asnumpy().astype("float64")
    summed = (depth + 3) * (SINGLE * sizes + LEAST) + HALF * between
    assert found.shape == want.shape
    bound = HALF * (np.abs(want) + summed) + summed
    error = np.abs(found - want)
    assert (error <= bound).all(), f"up to {(error / bound).max():.3g} of what is allowed"


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 300, 129), (30, 128, 70), (40, 96, 601), (16, 10, 64)]
)
def test_dense_layers_and_their_sums(m, n, k):
    (data, x), (weight, w), (bias, b) = draw((m, k), 1), draw((n, k), 2), draw(n, 3)
    (old, before) = draw((m, n), 4)
    found = mx.nd.FullyConnected(data, weight, bias, num_hidden=n)
    want, sizes = x @ w.T + b, np.abs(x) @ np.abs(w).T + np.abs(b)
    check(found, want, sizes, k)
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=n, name="f")
    args = {"x": data, "f_weight": weight, "f_bias": bias}
    executor = net.bind(mx.current_context(), args, grad_req="null")
    for _ in range(3):
        check(executor.forward()[0], want, sizes, k)
    weight *= 2
    check(executor.forward()[0], 2 * (want - b) + b, 2 * sizes, k)
    old += found
    check(old, before + found.astype("float32").asnumpy(), np.abs(before), 1)


@pytest.mark.parametrize(("m", "n", "k"), [(33, 64, 65), (70, 130, 128), (3, 200, 96)])
def test_matrices_with_gaps(m, n, k):
    a, x = draw((2 * m, k), 5)
    b, y = draw((n, k + 3), 6)
    found = mx.nd.dot(a[::2], b[:, 3:].T)
    x, y = x[::2], y[:, 3:].T
    check(found, x @ y, np.abs(x) @ np.abs(y), k)
    pair, turned = draw((2, k, m), 7), draw((2, n, k), 8)
    found = mx.nd.batch_dot(pair[0], turned[0], transpose_a=True, transpose_b=True)
    x, y = pair[1].swapaxes(1, 2), turned[1].swapaxes(1, 2)
    check(found, x @ y, np.abs(x) @ np.abs(y), k)


def windows(x, kernel, stride, pad):
    """What each window reads, as (image, row, column, what)."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    seen = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    seen = seen[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    return seen.reshape(*seen.shape[:3], -1)


CONVOLUTIONS = [
    ((2, 20, 9, 13), 70, 1, 1, 0),
    ((3, 530, 7, 7), 33, 1, 1, 0),
    ((2, 16, 14, 15), 24, 1, 2, 0),
    ((2, 5, 17, 12), 30, 3, 1, 1),
    ((1, 24, 20, 40), 13, 3, 2, 1),
    ((1, 3, 40, 71), 16, 7, 2, 3),
    ((4, 64, 28, 28), 64, 3, 1, 1),
]


@pytest.mark.parametrize(("shape", "filters", "kernel", "stride", "pad"), CONVOLUTIONS)
@pytest.mark.parametrize("follows", [False, True])
def test_convolutions_and_what_follows(shape, filters, kernel, stride, pad, follows, monkeypatch):
    monkeypatch.setenv("FERROMIX_WINOGRAD", "0")
    # Kernels are kept by shapes: one that no other test has.
    shape = (shape[0] + 1, *shape[1:])
    (data, x), (weight, w) = draw(shape, 9), draw((filters, shape[1], kernel, kernel), 10)
    seen, w = windows(x, kernel, stride, pad), w.reshape(filters, -1).T
    want, sizes = (np.moveaxis(a @ b, -1, 1) for a, b in [(seen, w), (np.abs(seen), np.abs(w))])
    args = {"x": data, "c_weight": weight}
    by_channel = {
        n: draw(filters, i) for i, n in enumerate(["c_bias", "gamma", "beta", "mean", "var"])
    }
    args["c_bias"], bias = by_channel["c_bias"]
    of = (slice(None), None, None)
    # On GPUs each operator rounds, and a library may round its sums before it adds the bias.
    rounds = mx.current_context().device_type == "gpu"
    before = rounds * np.abs(want)
    want, sizes = want + bias[of], sizes + np.abs(bias)[of]
    sizes_of = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2}
    net = mx.sym.Convolution(mx.sym.Variable("x"), num_filter=filters, name="c", **sizes_of)
    aux, between = {}, before
    if follows:
        names = [mx.sym.Variable(n) for n in ("gamma", "beta", "mean", "var")]
        net = mx.sym.BatchNorm(net, *names, fix_gamma=False, eps=1e-3, name="n")
        net = mx.sym.relu(net + mx.sym.Variable("other"))
        single = {n: by_channel[n][1] for n in ("gamma", "beta", "mean")}
        single["var"] = np.abs(by_channel["var"][1]) + 0.5
        args |= {n: mx.nd.array(single[n]) for n in ("gamma", "beta")}
        aux = {n: mx.nd.array(single[n]) for n in ("mean", "var")}
        args["other"], other = draw(want.shape, 11)
        scale = (single["gamma"] / np.sqrt(single["var"] + 1e-3))[of]
        moved = single["beta"][of] - single["mean"][of] * scale
        sizes = sizes * np.abs(scale) + np.abs(moved) + np.abs(other) + np.abs(want * scale)
        if rounds:
            between = (1 + HALF) * (np.abs(want) + before) * np.abs(scale)
            between += np.abs(want * scale + moved)
        want = np.maximum(want * scale + moved + other, 0)
    executor = net.bind(mx.current_context(), args, aux_states=aux, grad_req="null")
    for _ in range(2):
        check(executor.forward()[0], want, sizes, seen.shape[-1], between)
    if PAIRS and mx.current_context() == mx.cpu():
        (choice,) = [s.choice for s in executor.kernel_plan().steps if s.choice]
        assert "pairs" in choice


def test_minimal_filtering_of_bfloat16_is_off_by_little():
    (data, x), (weight, w) = draw((5, 32, 30, 29), 12), draw((64, 32, 3, 3), 13)
    found = mx.nd.Convolution(data, weight, kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True)
    want = np.moveaxis(windows(x, 3, 1, 1) @ w.reshape(64, -1).T, -1, 1)
    error = np.abs(found.astype("float32").asnumpy() - want)
    assert (error <= HALF * np.abs(want) + 3e-5 * np.abs(want).max()).all()


def test_what_is_no_number_stays_where_it_is_read():
    (_, x), (weight, w) = draw((30, 64), 14), draw((64, 64), 15)
    x[3, 5], x[7, 2], x[9, 63] = np.nan, np.inf, -np.inf
    found = mx.nd.FullyConnected(half(x)[0], weight, num_hidden=64, no_bias=True)
    with np.errstate(invalid="ignore"):
        want = x @ w.T
    found = found.astype("float32").asnumpy()
    assert np.array_equal(np.isnan(found), np.isnan(want))
    assert np.array_equal(found[np.isinf(want)], want[np.isinf(want)])
    image = x.reshape(1, 30, 8, 8)
    kernel = draw((20, 30, 1, 1), 16)[0]
    found = mx.nd.Convolution(half(image)[0], kernel, kernel=(1, 1), num_filter=20, no_bias=True)
    known = np.isfinite(image).all(1)
    assert (np.isfinite(found.astype("float32").asnumpy()).all(1) == known).all()


def test_what_is_subnormal_counts_for_little():
    (data, x), (weight, w) = draw((32, 65), 17), half(np.full((64, 65), 3e-39))
    weight[:, ::3], w[:, ::3] = 1, 1
    found = mx.nd.FullyConnected(data, weight, num_hidden=64, no_bias=True)
    check(found, x @ w.T, np.abs(x) @ np.abs(w).T, 65)
