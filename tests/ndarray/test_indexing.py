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


# -- values of other shapes and types --------------------------------------------------------------

ROW = [1.0, 2.0, 3.0]
PLACES = [
    (slice(0, 2), slice(None)),
    slice(1, 3),
    2,
    slice(None),
    slice(None, None, -2),
    (slice(None, None, 2), slice(None, None, -1)),
    (Ellipsis, slice(None)),
    slice(0, 0),
    slice(4, None),
    [0, 3],
    None,
]
ROWS = {
    "list": ROW,
    "tuple": tuple(ROW),
    "float64": np.array(ROW),
    "int64": np.array(ROW, "int64"),
    "uint8": np.array(ROW, "uint8"),
    "object": np.array(ROW, object),
    "str": np.array(["1", "2", "3"]),
    "one axis more": np.array([ROW]),
    "two axes more": np.array([[ROW]]),
    "NDArray": mx.nd.array(ROW),
    "NDArray, int32": mx.nd.array(ROW, dtype="int32"),
    "NDArray, one axis more": mx.nd.array([ROW]),
    "NDArray, two axes more": mx.nd.array([[ROW]]),
    "NDArray, a view": mx.nd.array([[9, 9, 9], ROW])[1:2],
}


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_is_written_everywhere(place, row):
    array, expected = mx.nd.zeros((4, 3)), np.zeros((4, 3), "float32")
    array[place] = row
    expected[place] = ROW
    np.testing.assert_array_equal(array.asnumpy(), expected)


def test_views_of_views_take_rows():
    array = mx.nd.zeros((4, 3))
    array[0:2][:] = np.ones(3)
    assert array.asnumpy().sum() == 6
    array[1][None] = mx.nd.array([[ROW]])
    np.testing.assert_array_equal(array.asnumpy()[1], ROW)


@pytest.mark.parametrize("kind", [np.array, mx.nd.array])
def test_one_number_as_an_array_of_any_dimensions(kind):
    array = mx.nd.zeros((4, 3))
    for place, value in enumerate((kind(5), kind([5]), kind([[5]]), kind([[[5]]]))):
        array[place, 1] = value
        assert array.asnumpy()[place].tolist() == [0, 5, 0]
    scalar = mx.nd.array(1)
    scalar[()] = kind([3])
    assert scalar.asscalar() == 3


@pytest.mark.parametrize(
    ("place", "shape"),
    [
        (slice(None), (2, 4, 3)),
        (slice(None), (12,)),
        (slice(None), (3, 4)),
        (slice(None), (4,)),
        (1, (2,)),
        (1, (3, 1)),
        ((1, 1), (2,)),
        ((slice(None), 1), (4, 1)),
        (slice(0, 0), (2, 3)),
        ([0, 1], (2,)),
    ],
)
@pytest.mark.parametrize("kind", [np.ones, mx.nd.ones])
def test_values_that_do_not_broadcast(place, shape, kind):
    array = mx.nd.zeros((4, 3))
    with pytest.raises(ValueError, match=r"cannot copy an array of shape|could not be broadcast"):
        array[place] = kind(shape)
    assert not array.asnumpy().any()


@pytest.mark.parametrize(
    ("value", "written"),
    [("3", 3), (True, 1), (None, np.nan), (np.float64(2.5), 2.5), (2**70, 2**70)],
)
def test_single_values_as_in_mxnet(value, written):
    array = mx.nd.zeros((2, 2))
    array[1] = value
    np.testing.assert_array_equal(array.asnumpy(), np.array([[0, 0], [written] * 2], "float32"))


@pytest.mark.parametrize(
    "value", ["x", 1j, Ellipsis, {}, b"x", [[1], [2, 3]], np.array(["a"]), 10**400], ids=repr
)
def test_what_is_no_number_is_not_written(value):
    array = mx.nd.zeros((2, 2))
    with pytest.raises(ValueError, match=r"cannot put|inhomogeneous"):
        array[:] = value
    with pytest.raises(ValueError, match=r"cannot put|inhomogeneous"):
        mx.nd.array(value)


def test_numbers_beyond_a_type_do_not_warn():
    array = mx.nd.array([1e40, -1e40])
    assert array.asnumpy().tolist() == [np.inf, -np.inf]
    small = mx.nd.zeros((3,), dtype="uint8")
    small[:] = [300, -1, 2.7]
    assert small.asnumpy().tolist() == [44, 255, 2]
    assert mx.nd.array([np.nan], dtype="int32").shape == (1,)


def test_fractions_of_indices_are_cut_off():
    array = mx.nd.array(BASE)
    for key in (np.array([1.7, 0.2]), [1.0, 0.0], mx.nd.array([1.7, 0.2])):
        np.testing.assert_array_equal(array[key].asnumpy(), BASE[[1, 0]])
    array[[1.5]] = 0
    assert not array.asnumpy()[1].any()
    assert array.asnumpy()[0].any()


def test_true_and_false_are_indices():
    array = mx.nd.array(BASE)
    np.testing.assert_array_equal(array[True].asnumpy(), BASE[1])
    np.testing.assert_array_equal(array[False, True].asnumpy(), BASE[0, 1])
    array[True] = 0
    assert not array.asnumpy()[1].any()
    assert array.asnumpy()[0].any()


def test_an_empty_list_selects_nothing():
    array = mx.nd.array(BASE)
    assert array[[]].shape == (0, 3, 4, 5)
    array[[]] = 1
    np.testing.assert_array_equal(array.asnumpy(), BASE)


def test_gradients_of_fractional_and_bool_indices():
    x = mx.nd.array([[1, 2], [3, 4]])
    x.attach_grad()
    with mx.autograd.record():
        y = x[np.array([1.0, 1.0])].sum() + x[True].sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 0], [3, 3]]
