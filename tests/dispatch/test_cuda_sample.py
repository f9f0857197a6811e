"""The CUDA sources of random tensors, run on the host, draw the numbers of the CPU."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from test_cuda_values import numpy_dtype

import ferromix as mx

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
COUNTS = [0, 1, 5, 4099]
INTERVALS = [(0.0, 1.0), (-3.0, 2.5), (0.1, 0.1001), (1.0, 1.0)]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("sample")


def stream(seed: int, run: int) -> ctypes.Structure:
    kind = type("Stream", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_uint64 * 2)]})
    return kind((ctypes.c_uint64 * 2)(seed % 2**64, run))


def outermost(low: float, high: float, dtype) -> tuple[float, float]:
    """The outermost numbers of a type in [low, high), or the nearest to `low` if there is none."""
    least = np.asarray(low).astype(dtype)
    if float(least) < low:
        least = np.nextafter(least, dtype.type(np.inf))
    greatest = np.asarray(high).astype(dtype)
    if float(greatest) >= high:
        greatest = np.nextafter(greatest, dtype.type(-np.inf))
    if float(least) > float(greatest):
        least = greatest = np.asarray(low).astype(dtype)
    return float(least), float(greatest)


def drawn(kernels, name, dtype, count, numbers, seed, run, req=1, old=0.0, blocks=3):
    out = np.full(count, old, numpy_dtype(dtype))
    doubles = map(ctypes.c_double, numbers)
    rest = ctypes.c_int64(count), *doubles, stream(seed, run), ctypes.c_int(req)
    kernels.launch(f"sample_{name}_{dtype}", (blocks,), (32,), out, *rest)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("seed", [0, 7, -1, 2**40 + 3])
def test_uniform_numbers_are_those_of_the_cpu(kernels, dtype, seed):
    for low, high in INTERVALS:
        mx.random.seed(seed)
        for run, count in enumerate(COUNTS):
            wanted = mx.nd.random.uniform(low, high, (count,), dtype=dtype)
            if dtype == "float64":
                ends = (low, np.nextafter(high, -np.inf) if low < high else low)
            else:
                ends = outermost(low, high, numpy_dtype(dtype))
            found = drawn(kernels, "uniform", dtype, count, (low, high, *ends), seed, run)
            assert found.tobytes() == wanted.asnumpy().astype(found.dtype).tobytes(), (low, count)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_are_those_of_the_cpu(kernels, dtype):
    mx.random.seed(11)
    eps = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    for run, count in enumerate(COUNTS):
        wanted = mx.nd.random.normal(2.0, 3.0, (count,), dtype=dtype).asnumpy()
        found = drawn(kernels, "normal", dtype, count, (2.0, 3.0), 11, run)
        wanted, found = (a.astype(np.float64) for a in (wanted, found))
        np.testing.assert_allclose(found, wanted, rtol=8 * eps, atol=16 * eps)


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_the_grid_does_not_matter(kernels, blocks):
    args = kernels, "normal", "float32", 1000, (0.0, 1.0), 5, 3
    assert drawn(*args, blocks=blocks).tobytes() == drawn(*args, blocks=4).tobytes()


def test_requests(kernels):
    args = kernels, "uniform", "float32", 100, (0.0, 1.0, 0.0, 1 - 2.0**-24), 5, 3
    written = drawn(*args)
    assert (drawn(*args, req=0, old=7.0) == 7).all()
    np.testing.assert_array_equal(drawn(*args, req=3, old=7.0), written + np.float32(7))
