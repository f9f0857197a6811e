"""The CUDA sources of Dropout, run on the host, drop what the CPU drops."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from host import MAX_RANK, NEEDS_COMPILER, Kernels, build
from test_cuda_sample import stream
from test_cuda_values import numpy_dtype

import ferromix as mx

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("dropout")


class Coin(ctypes.Structure):
    _fields_ = (("threshold", ctypes.c_uint64), ("factor", ctypes.c_double))

    def __init__(self, p: float) -> None:
        super().__init__(int((1 - p) * 2**32), 1 / (1 - p) if p < 1 else 0.0)


def on_the_cpu(x, dtype, p, seed, **attrs):
    """Output of a second run after seeding."""
    mx.random.seed(seed)
    mx.nd.random.uniform(shape=(1,))
    array = mx.nd.array(x, dtype=dtype)
    return mx.nd.Dropout(array, p=p, mode="always", **attrs).asnumpy()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.75, 1.0])
def test_each_element_for_itself(kernels, dtype, p):
    for count in (0, 1, 6, 5001):
        x = np.random.default_rng(0).standard_normal(count).astype(numpy_dtype(dtype))
        wanted = on_the_cpu(x, dtype, p, 9)
        out, mask = x.copy(), np.full_like(x, 7)
        run = Coin(p), stream(9, 1)
        number = ctypes.c_int64(count)
        one, add = ctypes.c_int(1), ctypes.c_int(3)
        kernels.launch(f"dropout_each_{dtype}", (3,), (32,), x, out, one, mask, one, number, *run)
        assert out.tobytes() == wanted.astype(out.dtype).tobytes()
        factors = np.where(wanted == 0, 0, 1 / (1 - p) if p < 1 else 0)
        np.testing.assert_array_equal(mask[x != 0], factors.astype(mask.dtype)[x != 0])
        alone = np.zeros_like(mask)
        kernels.launch(f"dropout_mask_{dtype}", (1,), (7,), alone, number, *run, one)
        assert alone.tobytes() == mask.tobytes()
        # In place, and added to a mask; then nothing.
        none = ctypes.c_int(0)
        own = x.copy()
        args = own, own, one, alone, add, number, *run
        kernels.launch(f"dropout_each_{dtype}", (2,), (32,), *args)
        assert own.tobytes() == out.tobytes()
        np.testing.assert_array_equal(alone, mask + mask)
        args = x, out, none, mask, none, number, *run
        kernels.launch(f"dropout_each_{dtype}", (2,), (32,), *args)
        assert own.tobytes() == out.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2)])
def test_elements_that_share_a_factor(kernels, dtype, axes):
    shape = (5, 7, 6)
    x = np.random.default_rng(0).standard_normal(shape).astype(numpy_dtype(dtype))
    wanted = on_the_cpu(x, dtype, 0.5, 4, axes=axes)
    shared = [1 if a in axes else n for a, n in enumerate(shape)]
    steps = np.arange(np.prod(shared)).reshape(shared)
    strides = [s // 8 for s in np.broadcast_to(steps, shape).strides]
    words = [x.size, 3, 0, 0, *shape, *[0] * (MAX_RANK - 3)]
    words += [42, 6, 1, *[0] * (MAX_RANK - 3), *strides, *[0] * (MAX_RANK - 3)]
    kind = type("Walk", (ctypes.Structure,), {"_fields_": [("at", ctypes.c_int64 * len(words))]})
    walk = kind((ctypes.c_int64 * len(words))(*words))
    out = np.zeros_like(x)
    rest = walk, Coin(0.5), stream(4, 1)
    kernels.launch(f"dropout_spread_{dtype}", (3,), (32,), x, out, *rest, ctypes.c_int(1))
    assert out.tobytes() == wanted.astype(out.dtype).tobytes()
