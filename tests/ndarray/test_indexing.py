"""Indexing against NumPy: reading, writing, and what views share."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

BASE = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)
BASIC = [
    (),
    0,
    -1,
    (1, 2),
    slice(1, None),
    (slice(None), slice(None, None, 2)),
    (slice(None), slice(None, None, -1), 1),
    (Ellipsis, 2),
    (0, Ellipsis, slice(4, 1, -2)),
    (None, 1, None, slice(0, 2)),
    (slice(5, 9),),
    (slice(2, 1), 1),
    (slice(None, None, 10**30), slice(-(10**30), 10**30)),
    (slice(1, None, -(2**62)), slice(2**62, None, -1)),
    (1, 2, 3, Ellipsis),
    (0, Ellipsis, 1, 2, 3),
    Ellipsis,
    None,
    np.int64(1),
]
ADVANCED = [
    np.array([1, 0, 1]),
    (slice(None), [2, 0]),
    (np.array([0, 1]), np.array([2, 1])),
    BASE > 50,
    BASE[:, 0, 0, 0] > 10,
]


@pytest.mark.parametrize("key", BASIC + ADVANCED, ids=str)
def test_reading_agrees_with_numpy(key):
    np.testing.assert_array_equal(mx.nd.array(BASE)[key].asnumpy(), BASE[key])


@pytest.mark.parametrize("key", BASIC + ADVANCED, ids=str)
def test_writing_agrees_with_numpy(key):
    for value in (7, np.arange(BASE[key].size).reshape(BASE[key].shape)):
        expected = BASE.copy()
        expected[key] = value
        array = mx.nd.array(BASE)
        array[key] = value
        np.testing.assert_array_equal(array.asnumpy(), expected)


def test_writes_through_views_are_seen():
    array = mx.nd.array(BASE)
    expected = BASE.copy()
    view, mirror = array[1, :, ::2], expected[1, :, ::2]
    view[:] = -1
    mirror[:] = -1
    view += 5
    mirror += 5
    array[:, 1] *= 2
    expected[:, 1] *= 2
    np.testing.assert_array_equal(array.asnumpy(), expected)
    np.testing.assert_array_equal(view.asnumpy(), mirror)


def test_a_single_element_has_one_dimension_as_in_mxnet():
    array = mx.nd.array(BASE)
    element = array[1, 2, 3, 4]
    assert element.shape == (1,)
    element[:] = 7
    assert array[1, 2, 3, 4].asscalar() == 7
    assert mx.nd.array([5])[0].shape == (1,)
    assert mx.nd.array(5)[()].shape == ()


def test_overlapping_assignment_reads_before_it_writes():
    array = mx.nd.array(np.arange(10))
    array[1:] = array[:-1]
    np.testing.assert_array_equal(array.asnumpy(), [0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    array[:] = array[::-1]
    np.testing.assert_array_equal(array.asnumpy(), [8, 7, 6, 5, 4, 3, 2, 1, 0, 0])


def test_operators_on_overlapping_views_and_outputs():
    array = mx.nd.array(np.arange(6))
    mx.nd.broadcast_add(array[:-1], array[1:], out=array[1:])
    np.testing.assert_array_equal(array.asnumpy(), [0, 1, 3, 5, 7, 9])
    square = mx.nd.array(np.arange(4).reshape(2, 2))
    mx.nd.transpose(square, out=square)
    np.testing.assert_array_equal(square.asnumpy(), [[0, 2], [1, 3]])


def test_broadcast_in_assignment():
    array = mx.nd.zeros((2, 3))
    array[:] = np.array([1, 2, 3])
    array[:, 1:] = mx.nd.array([[5], [6]])
    np.testing.assert_array_equal(array.asnumpy(), [[1, 5, 5], [1, 6, 6]])


def test_reshape_shares_memory_where_it_can():
    array = mx.nd.array(BASE)
    flat = array.reshape(-1)
    flat[0] = 99
    assert array[0, 0, 0, 0].asscalar() == 99
    assert array.reshape((0, -1)).shape == (2, 60)
    assert array.reshape(6, 20).shape == (6, 20)
    turned = array[:, ::2].reshape(-1)
    np.testing.assert_array_equal(turned.asnumpy(), array.asnumpy()[:, ::2].reshape(-1))


def test_iteration_and_length():
    array = mx.nd.array(BASE)
    assert len(array) == 2
    for row, expected in zip(array, BASE, strict=True):
        np.testing.assert_array_equal(row.asnumpy(), expected)
    with pytest.raises(TypeError, match="0-d"):
        len(mx.nd.array(1))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, "index 2 is out of range for axis 0 with extent 2"),
        ((0, -4), "index -4 is out of range for axis 1 with extent 3"),
        ((0, 0, 0, 0, 0), "too many indices: the array has 4 dimensions, got 5"),
        ((Ellipsis, Ellipsis), "only once"),
        (2**70, f"index {2**70} is out of range"),
        (np.int8(-3), "index -3 is out of range for axis 0 with extent 2"),
    ],
    ids=str,
)
def test_bad_indices(key, message):
    with pytest.raises(IndexError, match=message):
        mx.nd.array(BASE)[key]


def test_assignment_that_does_not_fit():
    array = mx.nd.zeros((2, 3))
    with pytest.raises(mx.error.InvalidArgumentError, match=r"\(2,\).*\(2, 3\)|2\].*2, 3\]"):
        array[:] = mx.nd.zeros((2,))
    with pytest.raises(mx.error.InvalidArgumentError, match="cannot put str"):
        array[:] = "text"
