"""Operators on any number of tensors: infinities, shared outputs, what is set to 0."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

FLOATS = ("float32", "float64", "float16", "bfloat16")
ALL = (*FLOATS, "uint8", "int8", "int32", "int64", "bool")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("size", "place"), [(1, 0), (70_000, 0), (70_000, 69_999), (5000, 4321)])
def test_one_element_that_is_not_finite(dtype, value, size, place):
    data = np.linspace(-3, 3, size)
    good = mx.nd.array(data, dtype=dtype)
    data[place] = value
    bad = mx.nd.array(data, dtype=dtype)
    assert mx.nd.all_finite(good).asnumpy().tolist() == [1]
    assert mx.nd.all_finite(bad).asnumpy().tolist() == [0]
    for arrays in ((good, bad), (bad, good)):
        assert mx.nd.multi_all_finite(*arrays, num_arrays=2).asnumpy().tolist() == [0]


def test_the_largest_numbers_are_finite():
    for dtype in ("float32", "float64", "float16"):
        big = mx.nd.full((4096,), float(np.finfo(dtype).max), dtype=dtype)
        assert mx.nd.all_finite(big).asnumpy().tolist() == [1]


@pytest.mark.parametrize("before", [0.0, 1.0])
def test_runs_that_share_an_output(before):
    out = mx.nd.array([before])
    mx.nd.all_finite(mx.nd.ones((3,)), init_output=False, out=out)
    assert out.asnumpy().tolist() == [before]
    mx.nd.multi_all_finite(mx.nd.ones((3,)), num_arrays=1, init_output=False, out=out)
    assert out.asnumpy().tolist() == [before]
    mx.nd.all_finite(mx.nd.array([np.nan]), init_output=False, out=out)
    assert out.asnumpy().tolist() == [0]


def test_arrays_set_to_0():
    arrays = [mx.nd.ones((3, 2), dtype=t) for t in ALL]
    views = mx.nd.ones((4, 4))
    result = mx.nd.reset_arrays(*arrays, views[1:3, ::2], num_arrays=len(ALL) + 1)
    assert result == []
    for array, dtype in zip(arrays, ALL, strict=True):
        assert array.dtype_name == dtype
        assert not array.astype("float32").asnumpy().any()
    expected = np.ones((4, 4))
    expected[1:3, ::2] = 0
    np.testing.assert_array_equal(views.asnumpy(), expected)


def test_sums_of_half_precision_are_in_single():
    data = mx.nd.full((3000,), 10, dtype="float16")
    found = mx.nd.multi_sum_sq(data, num_arrays=1)
    assert found.dtype_name == "float32"
    assert found.asnumpy().tolist() == [300_000]


def test_types_are_checked():
    with pytest.raises(InvalidArgumentError, match=r"all_finite.*int32 is not supported"):
        mx.nd.all_finite(mx.nd.ones((2,), dtype="int32"))
    with pytest.raises(
        InvalidArgumentError, match="'array_1' is float64, but 'array_0' is float32"
    ):
        mx.nd.multi_sum_sq(mx.nd.ones((2,)), mx.nd.ones((2,), dtype="float64"), num_arrays=2)
