"""The CUDA sources of activations, run on the host, give what the CPU gives."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build, walk
from test_cuda_softmax import along
from test_cuda_values import numpy_dtype

import ferromix as mx
from ferromix import dispatch
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
SELU = 1.6732632423543772, 1.0507009873554805
ROWS = {
    "relu": ("Activation", "relu", ()),
    "sigmoid": ("Activation", "sigmoid", ()),
    "tanh": ("Activation", "tanh", ()),
    "softrelu": ("Activation", "softrelu", ()),
    "softsign": ("Activation", "softsign", ()),
    "gelu": ("LeakyReLU", "gelu", ()),
    "leaky": ("LeakyReLU", "leaky", (0.25, 1.0)),
    "elu": ("LeakyReLU", "elu", (0.25, 1.0)),
    "selu": ("LeakyReLU", "selu", SELU),
}
"""Operator, function, and slope and scale of the kernel."""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("activation")


def on_the_cpu(name, inputs, dtype, **attrs):
    arrays = [mx.nd.array(x, dtype=dtype) for x in inputs]
    outs = dispatch.invoke(make(name, attrs), [a.handle for a in arrays])
    return [mx.nd.NDArray(out).asnumpy() for out in outs]


def like(found, wanted, dtype, name):
    eps = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    found, wanted = (a.astype(np.float64) for a in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=8 * eps, atol=2 * eps, err_msg=name)


def launch(kernels, entry, inputs, out, numbers, req, strided):
    rest = *map(ctypes.c_double, numbers), walk(out, list(inputs), strided), ctypes.c_int(req)
    kernels.launch(entry, (2,), (32,), *inputs, out, *rest)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("req", [0, 1, 3])
def test_functions_and_slopes(kernels, name, dtype, req):
    op, act_type, numbers = ROWS[name]
    stem = "elu" if name == "selu" else name
    rng = np.random.default_rng(1)
    for shape in ((5, 7, 3), (1000,), (0, 2)):
        x, grad = (3 * rng.standard_normal(shape).astype(numpy_dtype(dtype)) for _ in range(2))
        x.reshape(-1)[:3] = [0, np.inf, -np.inf][: x.size]
        attrs = {"act_type": act_type}
        (y,) = on_the_cpu(op, [x], dtype, **attrs)
        out = np.ones_like(x)
        launch(kernels, f"activation_{stem}_{dtype}", [x], out, numbers, req, len(shape) == 3)
        like(out, {0: 1, 1: y, 3: 1 + y}[req] * np.ones(shape), dtype, name)

        x.reshape(-1)[:3] = [0, 1, -1][: x.size]
        (y,) = on_the_cpu(op, [x], dtype, **attrs)
        known = y if op == "Activation" and act_type != "softsign" else x
        (slope,) = on_the_cpu(f"_backward_{op}", [grad, known], dtype, **attrs)
        out = np.ones_like(x)
        given = [grad, np.ascontiguousarray(known.astype(x.dtype))]
        entry = f"activation_{stem}_backward_{dtype}"
        launch(kernels, entry, given, out, numbers, req, len(shape) == 3)
        like(out, {0: 1, 1: slope, 3: 1 + slope}[req] * np.ones(shape), dtype, entry)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("slopes", [(4,), (1,)])
def test_learned_slopes(kernels, dtype, slopes):
    rng = np.random.default_rng(1)
    shape = (3, 4, 5)
    x, grad = (rng.standard_normal(shape).astype(numpy_dtype(dtype)) for _ in range(2))
    gamma = rng.random(slopes).astype(x.dtype)
    wide = gamma.reshape(-1, 1)
    (y,) = on_the_cpu("LeakyReLU", [x, gamma], dtype, act_type="prelu")
    back = on_the_cpu("_backward_LeakyReLU", [grad, x, gamma], dtype, act_type="prelu")
    out = np.zeros_like(x)
    launch(kernels, f"activation_prelu_{dtype}", [x, wide], out, (), 1, True)
    like(out, y, dtype, "prelu")
    launch(kernels, f"activation_prelu_backward_{dtype}", [grad, x, wide], out, (), 1, True)
    like(out, back[0], dtype, "prelu backward")
    where = along(shape, 1) if slopes == (4,) else along((1, 1, 60), 1)
    for grid, block in (((1,), (1, 1)), ((2,), (2, 8))):
        total = np.ones_like(gamma)
        given = grad, x, total, where, ctypes.c_int(3)
        kernels.launch(f"activation_prelu_slopes_{dtype}", grid, block, *given)
        like(total, (1 + back[1].astype(np.float64)).astype(x.dtype), dtype, "slopes")
