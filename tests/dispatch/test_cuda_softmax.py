"""The CUDA sources of softmax, run on the host, beside formulas of NumPy in float64."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from test_cuda_values import numpy_dtype

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
SHAPES = [((6, 40), 1), ((3, 9, 5), 1), ((7, 4), 0), ((2, 1), 1), ((3, 0, 2), 1), ((0, 3), 1)]
LAUNCHES = [((1,), (1, 1)), ((2,), (4, 8)), ((1,), (1, 64))]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("softmax")


def along(shape, axis):
    words = np.prod(shape[:axis], dtype=int), shape[axis], np.prod(shape[axis + 1 :], dtype=int)
    kind = type("Along", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * 3)]})
    return kind((ctypes.c_int64 * 3)(*map(int, words)))


def mask_of(lengths, shape, axis):
    count = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return np.ones(shape, bool) if lengths is None else count < np.expand_dims(lengths, axis)


def softmax(x, mask, axis, log):
    with np.errstate(all="ignore"):
        inside = np.where(mask, x, -np.inf)
        inside = inside - inside.max(axis, keepdims=True, initial=-np.inf)
        sums = np.exp(inside).sum(axis, keepdims=True)
        return np.where(mask, inside - np.log(sums) if log else np.exp(inside) / sums, 0)


def lengths_of(rng, shape, axis, dtype):
    if dtype is None:
        return None
    rest = shape[:axis] + shape[axis + 1 :]
    return rng.integers(-1, shape[axis] + 3, rest).astype(dtype)


def close(got, want, dtype, size):
    g, w = got.astype(np.float64), np.asarray(want, np.float64)
    return bool(np.all(np.isclose(g, w, rtol=8 * EPS[dtype], atol=8 * EPS[dtype] * size)))


@pytest.mark.parametrize("lengths_dtype", [None, "int32", "int64"])
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", FLOATS)
def test_forward(kernels, source, target, lengths_dtype):
    rng = np.random.default_rng(7)
    for (shape, axis), (grid, block), log, t in product(
        SHAPES, LAUNCHES, (False, True), (1.0, -0.5)
    ):
        x = (3 * rng.standard_normal(shape)).astype(numpy_dtype(source))
        lengths = lengths_of(rng, shape, axis, lengths_dtype)
        old = rng.integers(0, 3, shape).astype(numpy_dtype(target))
        for req in (0, 1, 3):
            out = old.copy()
            given = ctypes.c_void_p(None) if lengths is None else lengths
            wide = ctypes.c_int(lengths_dtype == "int64")
            entry = f"softmax_{'log' if log else 'forward'}_{source}_{target}"
            rest = along(shape, axis), ctypes.c_double(t), ctypes.c_int(req)
            kernels.launch(entry, grid, block, x, given, wide, out, *rest, seed=5)
            mask = mask_of(lengths, shape, axis)
            want = softmax(x.astype(np.float64) / t, mask, axis, log)
            want = {0: old, 1: want, 3: old.astype(np.float64) + want}[req]
            # The smaller precision rounds; logarithms lose what the exponents are large by.
            precision = max(source, target, key=EPS.get)
            assert close(out, want, precision, 4 + 20 * log), f"{entry} {shape} {block} {req}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("log", [False, True])
def test_backward(kernels, dtype, log):
    rng = np.random.default_rng(8)
    for (shape, axis), (grid, block), kind in product(SHAPES, LAUNCHES, (None, "int32")):
        lengths = lengths_of(rng, shape, axis, kind)
        mask = mask_of(lengths, shape, axis)
        grad = rng.standard_normal(shape).astype(numpy_dtype(dtype))
        out = softmax(rng.standard_normal(shape), mask, axis, log).astype(numpy_dtype(dtype))
        result = np.zeros(shape, numpy_dtype(dtype))
        given = ctypes.c_void_p(None) if lengths is None else lengths
        entry = f"softmax_backward{'_log' * log}_{dtype}"
        rest = along(shape, axis), ctypes.c_double(2.0), ctypes.c_int(1)
        kernels.launch(entry, grid, block, grad, out, given, ctypes.c_int(0), result, *rest)
        g, y = (np.where(mask, a.astype(np.float64), 0) for a in (grad, out))
        if log:
            want = np.where(mask, g - np.exp(y) * g.sum(axis, keepdims=True), 0) / 2
        else:
            want = (g - (g * y).sum(axis, keepdims=True)) * y / 2
        assert close(result, want, dtype, 20), f"{entry} {shape} {block}"


def test_what_is_infinite_stays_as_numpy_has_it(kernels):
    x = np.array([[np.inf, 0], [-np.inf, 1], [-np.inf, -np.inf], [np.nan, 0]], np.float32)
    out = np.zeros_like(x)
    rest = along(x.shape, 1), ctypes.c_double(1.0), ctypes.c_int(1)
    none = ctypes.c_void_p(None), ctypes.c_int(0)
    kernels.launch("softmax_forward_float32_float32", (1,), (4, 2), x, *none, out, *rest)
    want = softmax(x.astype(np.float64), np.ones(x.shape, bool), 1, False)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(want))
    np.testing.assert_allclose(out[1], want[1], rtol=1e-6)
