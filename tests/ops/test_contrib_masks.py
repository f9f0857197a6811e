"""``boolean_mask``, whose shape depends on values, and ``getnnz`` of csr arrays."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError

DATA = np.arange(12.0).reshape(4, 3)
MASKS = ([0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [-2, 0.5, float("nan"), 0])
TYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_slices_where_a_mask_is_not_zero(mask):
    found = mx.nd.contrib.boolean_mask(mx.nd.array(DATA), mx.nd.array(mask))
    np.testing.assert_array_equal(found.asnumpy(), DATA[np.array(mask) != 0])


@pytest.mark.parametrize("dtype", TYPES)
def test_data_and_masks_of_all_types(dtype):
    data, mask = mx.nd.array(DATA, dtype=dtype), mx.nd.array([0, 1, 0, 1], dtype=dtype)
    found = mx.nd.contrib.boolean_mask(data, mask)
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(found.asnumpy(), data.asnumpy()[[1, 3]])


@pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 2, 3)])
def test_other_shapes(shape):
    data = mx.nd.array(np.random.default_rng(0).random(shape))
    found = mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0, 0, 1]), axis=0)
    np.testing.assert_array_equal(found.asnumpy(), data.asnumpy()[[0, 3]])
    nothing = mx.nd.contrib.boolean_mask(mx.nd.zeros((0, 2)), mx.nd.zeros((0,)))
    assert nothing.shape == (0, 2)


@pytest.mark.parametrize("mask", MASKS[:3], ids=str)
def test_the_gradient_goes_back_to_the_slices(mask):
    data, index = mx.nd.array(DATA), mx.nd.array(mask)
    data.attach_grad()
    index.attach_grad()
    with mx.autograd.record():
        (mx.nd.contrib.boolean_mask(data, index) * 2).sum().backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), 2 * np.array(mask)[:, None] * np.ones(3))
    assert not index.grad.asnumpy().any()


def test_into_an_array():
    out = mx.nd.zeros((2, 3))
    data, mask = mx.nd.array(DATA), mx.nd.array([0, 1, 0, 1])
    assert mx.nd.contrib.boolean_mask(data, mask, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), DATA[[1, 3]])
    with pytest.raises(InvalidArgumentError, match=r"must be float32 \[2, 3\]"):
        mx.nd.contrib.boolean_mask(data, mask, out=mx.nd.zeros((3, 3)))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((3,))), r"'index' has shape \(3,\), expected \(4,\)"),
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((4, 1))), r"'index' has shape \(4, 1\)"),
        ((mx.nd.zeros(()), mx.nd.zeros((1,))), "'index'"),
        ((mx.nd.zeros((4, 3)), mx.nd.zeros((3,)), 1), "axis must be 0, got 1"),
    ],
)
def test_what_does_not_fit(args, words):
    with pytest.raises(InvalidArgumentError, match=words):
        mx.nd.contrib.boolean_mask(*args)


def test_no_array_and_no_graph():
    with pytest.raises(ArgumentTypeError, match="'index' must be an NDArray, got list"):
        mx.nd.contrib.boolean_mask(mx.nd.zeros((2, 3)), [0, 1])
    with pytest.raises(InvalidArgumentError, match="depends on the values of 'index'"):
        mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"))
    assert "boolean_mask" in dir(mx.nd.contrib)
    assert "boolean_mask" in dir(mx.sym.contrib)


MATRIX = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 0, 3, 4]], np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_stored_elements_are_counted_zeros_among_them_too(axis):
    csr = mx.nd.array(MATRIX).tostype("csr")
    found = mx.nd.contrib.getnnz(csr, axis=axis)
    wanted = np.atleast_1d(np.count_nonzero(MATRIX, axis=axis))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    parts = np.array([1, 0, 5], np.float32), np.array([0, 1, 1]), np.array([0, 2, 2, 3])
    zero = mx.nd.sparse.csr_matrix(parts, shape=(3, 4))
    stored = {None: [3], 0: [1, 2, 0, 0], 1: [2, 0, 1]}[axis]
    np.testing.assert_array_equal(mx.nd.contrib.getnnz(zero, axis=axis).asnumpy(), stored)
