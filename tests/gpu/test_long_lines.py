"""Lines that shared memory does not hold are sorted as NumPy sorts them."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)


def drawn(shape, dtype):
    """With equal numbers among them, and NaN."""
    values = np.random.default_rng(3).integers(-900, 900, shape).astype(dtype)
    if dtype == "float32":
        values.reshape(-1)[::701] = np.nan
    return values


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(("shape", "axis"), [((2049,), 0), ((2, 5000), 1), ((4097, 2), 0)])
def test_sort_and_places(dtype, shape, axis):
    x = drawn(shape, dtype)
    array = mx.nd.array(x, ctx=GPU, dtype=dtype)
    np.testing.assert_array_equal(mx.nd.sort(array, axis=axis).asnumpy(), np.sort(x, axis))
    found = mx.nd.argsort(array, axis=axis, dtype="int64").asnumpy()
    np.testing.assert_array_equal(found, np.argsort(x, axis, kind="stable"))
    assert races() == ""


def test_the_greatest():
    x = np.random.default_rng(4).permutation(3000).astype(np.float32)
    array = mx.nd.array(x, ctx=GPU)
    values, places = mx.nd.topk(array, k=5, ret_typ="both", dtype="int32")
    assert values.asnumpy().tolist() == [2999, 2998, 2997, 2996, 2995]
    assert x[places.asnumpy()].tolist() == values.asnumpy().tolist()
    mask = mx.nd.topk(array, k=5, ret_typ="mask").asnumpy()
    np.testing.assert_array_equal(mask, (x > 2994).astype(np.float32))
    assert races() == ""
