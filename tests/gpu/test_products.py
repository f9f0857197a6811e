"""Products of matrices by the vendor's library, and by our own kernels, against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import gpu

from .device import HOST, races

GPU = mx.gpu(0)
ROUNDING = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}


def drawn(shape, dtype, seed):
    values = np.random.default_rng(seed).standard_normal(shape)
    array = mx.nd.array(values, GPU, dtype)
    return array, array.astype("float64").asnumpy()


def close(found, expected, dtype):
    scale = max(1.0, np.abs(expected).max(initial=0))
    found = found.astype("float64").asnumpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[dtype] * scale)


def test_there_is_a_library():
    mx.nd.ones((1,), GPU).wait_to_read()
    assert not HOST or gpu.limits(0).has_blas


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
def test_dot_and_batch_dot(dtype, flips):
    m, n, depth = 5, 7, 6
    for batch in ((), (3,)):
        a, x = drawn((*batch, *((depth, m) if flips[0] else (m, depth))), dtype, 1)
        b, y = drawn((*batch, *((n, depth) if flips[1] else (depth, n))), dtype, 2)
        x, y = (v.swapaxes(-1, -2) if f else v for v, f in zip((x, y), flips, strict=True))
        run = mx.nd.batch_dot if batch else mx.nd.dot
        close(run(a, b, transpose_a=flips[0], transpose_b=flips[1]), x @ y, dtype)
    assert races() == ""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_a_layer_in_a_graph(dtype, request_):
    """Three runs: launched, captured, and from the graph."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    shapes = {"data": (6, 5), "fc_weight": (4, 5), "fc_bias": (4,)}
    pairs = {name: drawn(s, dtype, i) for i, (name, s) in enumerate(shapes.items())}
    arrays, (x, w, b) = {k: v[0] for k, v in pairs.items()}, [v[1] for v in pairs.values()]
    grads = {k: mx.nd.ones(s, GPU, dtype=dtype) for k, s in shapes.items()}
    executor = net.bind(GPU, arrays, args_grad=grads, grad_req=request_)
    head, g = drawn((6, 4), dtype, 9)
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(head)
    close(executor.outputs[0], x @ w.T + b, dtype)
    start, times = (1, 3) if request_ == "add" else (0, 1)
    close(grads["data"], start + times * (g @ w), dtype)
    close(grads["fc_weight"], start + times * (g.T @ x), dtype)
    close(grads["fc_bias"], start + times * g.sum(0), dtype)
    assert races() == ""


@pytest.mark.parametrize(
    ("m", "n", "depth"), [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (1, 300, 70)]
)
def test_extents(m, n, depth):
    a, x = drawn((m, depth), "float32", 1)
    b, y = drawn((depth, n), "float32", 2)
    close(mx.nd.dot(a, b), x @ y, "float32")


def test_halves_are_rounded_once_to_the_nearest():
    """Sums that lie between two halves, subnormal ones and those that are too large."""
    x = np.array(
        [
            [2048, 1],
            [2048, 3],
            [2**-24, 2**-25],
            [3 * 2**-24, 2**-25],
            [65504, 15],
            [0, 0],
            [60000, 9000],
        ]
    )
    ones = mx.nd.ones((2, 1), GPU, dtype="float16")
    found = mx.nd.dot(mx.nd.array(x, GPU, "float16"), ones).asnumpy()[:, 0]
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float64).sum(1).astype(np.float16)
    assert np.array_equal(found, expected)


@pytest.mark.skipif(not HOST, reason="older GPUs have no tensor cores for it")
@pytest.mark.parametrize("library", ["0", "1"])
def test_float32_is_rounded_where_that_is_allowed(library):
    """1 + 2**-11 lies between two numbers of tf32; by the library, by kernels, in a convolution."""
    code = """
        import numpy as np, ferromix as mx
        x = mx.nd.full((72, 72), 1 + 2**-11, mx.gpu(0))
        wanted = 72 * (1 + 2**-10) ** 2
        np.testing.assert_allclose(mx.nd.dot(x, x).asnumpy(), wanted, rtol=1e-5)
        given = x.reshape((1, 72, 8, 9)), x.reshape((72, 72, 1, 1))
        found = mx.nd.Convolution(*given, no_bias=True, kernel=(1, 1), num_filter=72)
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)
    """
    lines = [line.strip() for line in code.strip().splitlines()]
    rounds = {"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION": "1", "FERROMIX_GPU_BLAS": library}
    env = {**os.environ, **rounds}
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=env, check=True, timeout=120)


def test_our_own_kernels_take_its_place():
    code = """
        import numpy as np, ferromix as mx
        from ferromix.dispatch import gpu
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        found = mx.nd.dot(mx.nd.array(x, mx.gpu(0)), mx.nd.array(x.T, mx.gpu(0))).asnumpy()
        assert np.array_equal(found, x @ x.T)
        assert not gpu.limits(0).has_blas
    """
    lines = [line.strip() for line in code.strip().splitlines()]
    env = {**os.environ, "FERROMIX_GPU_BLAS": "0"}
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=env, check=True, timeout=120)
