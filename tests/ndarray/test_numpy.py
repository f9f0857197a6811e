"""NumPy's functions, operators and numbers with NDArrays: who answers, and with what type."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError

nd = mx.nd
X = np.array([[1.0, 2.5], [-3.0, 4.0]], "float32")


def same(found, expected, kind=None):
    assert isinstance(found, kind or mx.nd.NDArray)
    values = found.asnumpy() if isinstance(found, mx.nd.NDArray) else found
    np.testing.assert_array_equal(values, expected)
    assert values.dtype == np.asarray(expected).dtype


UFUNCS = [np.exp, np.abs, np.floor, np.isnan, np.logical_not, np.sign, np.square]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_ufuncs_of_one_array_give_numpys_arrays(ufunc):
    same(ufunc(nd.array(X)), ufunc(X), np.ndarray)


@pytest.mark.parametrize(
    "other", [X, 2, np.float32(2), nd.array(X)], ids=["array", "int", "f32", "nd"]
)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.greater, np.equal])
def test_ufuncs_of_two(ufunc, other):
    plain = other.asnumpy() if isinstance(other, nd.NDArray) else other
    same(ufunc(nd.array(X), other), ufunc(X, plain), np.ndarray)
    same(ufunc(other, nd.array(X)), ufunc(plain, X), np.ndarray)


def test_ufuncs_do_not_go_element_by_element():
    a = nd.ones((300, 300))
    for found in (np.exp(a), np.add(a, np.ones((300, 300))), np.add.reduce(a), np.array(a)):
        assert found.dtype != object


FUNCTIONS = {
    "sum": lambda a: np.sum(a),
    "sum of an axis": lambda a: np.sum(a, axis=0),
    "sum with keepdims": lambda a: np.sum(a, axis=1, keepdims=True),
    "max": lambda a: np.max(a, axis=1),
    "min": lambda a: np.min(a, axis=0),
    "prod": lambda a: np.prod(a, axis=1),
    "mean": lambda a: np.mean(a, axis=0),
    "clip": lambda a: np.clip(a, 0, 2),
    "round": lambda a: np.round(a + 0.25),
    "around": lambda a: np.around(a + 0.25),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "transpose": lambda a: np.transpose(a, (1, 0)),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "squeeze": lambda a: np.squeeze(a),
}


@pytest.mark.parametrize("act", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_that_are_methods_give_ndarrays(act):
    found, expected = act(nd.array(X)), act(X)
    assert isinstance(found, nd.NDArray)
    np.testing.assert_array_equal(found.asnumpy().reshape(expected.shape), expected)


OTHERS = {
    "std": np.std,
    "median": np.median,
    "round to places": lambda a: np.round(a, 1),
    "reshape": lambda a: np.reshape(a, (4, 1)),
    "ravel": np.ravel,
    "concatenate": lambda a: np.concatenate([a, a]),
    "stack": lambda a: np.stack([a, a]),
    "where": lambda a: np.where(a, 1, 2),
    "sort": np.sort,
    "unique": np.unique,
    "dot": lambda a: np.dot(a, a),
    "matmul": lambda a: np.matmul(a, X),
    "norm": np.linalg.norm,
    "any": np.any,
    "all": np.all,
    "allclose": lambda a: np.allclose(a, X),
    "zeros_like": np.zeros_like,
    "array of a list": lambda a: np.array([a, a]),
    "asarray of a type": lambda a: np.asarray(a, dtype=np.int32),
    "array of a type": lambda a: np.array(a, dtype="float64", copy=True),
    "ndmin": lambda a: np.array(a, ndmin=3),
}


@pytest.mark.parametrize("act", OTHERS.values(), ids=OTHERS)
def test_other_functions_give_what_they_give_for_numpys_arrays(act):
    found, expected = act(nd.array(X)), act(X)
    assert not isinstance(found, nd.NDArray)
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_the_array_protocol():
    a = nd.array(X)
    assert a.__array__("float64").dtype == "float64"
    assert a.__array__(np.int8, copy=True).dtype == "int8"
    assert np.shares_memory(a.__array__(copy=False), np.asarray(a))
    with pytest.raises(ValueError, match="without a copy"):
        a.__array__("int8", copy=False)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(a)[:] = 0
    copied = np.array(a)
    copied[:] = 0
    same(a, X)


ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.mod,
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("act", ARITHMETIC + COMPARISONS, ids=lambda o: o.__name__)
def test_numbers_of_numpy_take_the_arrays_type(act, kind):
    number, a = kind(1), nd.array([1.0, 2.0, 4.0])
    for found, expected in (
        (act(number, a), act(np.float32(1), a.asnumpy())),
        (act(a, number), act(a.asnumpy(), np.float32(1))),
    ):
        same(found, expected.astype("float32"))


@pytest.mark.parametrize("act", ARITHMETIC + COMPARISONS, ids=lambda o: o.__name__)
def test_operators_refuse_numpys_arrays_in_both_orders(act):
    for array in (X, X.astype("float64"), np.array(2.0), X[0]):
        for operands in ((array, nd.array(X)), (nd.array(X), array)):
            with pytest.raises(
                ArgumentTypeError, match="must be an NDArray or a number, got ndarray"
            ):
                act(*operands)


def test_in_place_operators_refuse_numpys_arrays():
    for act in (operator.iadd, operator.isub, operator.imul, operator.itruediv):
        for operands in ((X.copy(), nd.array(X)), (nd.array(X), X)):
            with pytest.raises(TypeError, match="must be an NDArray or a number, got ndarray"):
                act(*operands)


def test_numpys_arrays_take_values_by_assignment():
    target = np.zeros((2, 2))
    target[:] = nd.array(X)
    np.testing.assert_array_equal(target, X)
    target[0] = nd.array([8, 9])
    assert target[0].tolist() == [8, 9]


# What MXNet 1.9.1 answers.
NUMBERS = [
    (nd.add, 1, 2, 3),
    (nd.subtract, 5, 2, 3),
    (nd.multiply, 5, 2, 10),
    (nd.divide, 5, 2, 2.5),
    (nd.modulo, 5, 2, 1),
    (nd.power, 2, 3, 8),
    (nd.maximum, 1, 2, 2),
    (nd.minimum, 1, 2, 1),
    (nd.equal, 1, 1, 1),
    (nd.not_equal, 1, 1, 0),
    (nd.greater, 1, 2, 0),
    (nd.lesser_equal, 1, 2, 1),
    (nd.logical_and, 1, 2, 1),
    (nd.logical_or, 0, 0, 0),
    (nd.logical_xor, 1, 2, 0),
]


@pytest.mark.parametrize(("act", "lhs", "rhs", "expected"), NUMBERS)
def test_two_numbers_give_a_number(act, lhs, rhs, expected):
    assert act(lhs, rhs) == expected
    assert type(act(lhs, rhs)) is type(expected)


def test_two_numbers_without_a_quotient():
    with pytest.raises(ValueError, match="div of 1 and 0: division by zero"):
        nd.divide(1, 0)


# -- an array as one value -------------------------------------------------------------------------


def test_truth():
    assert not nd.array([])
    assert not nd.zeros((2, 0))
    assert bool(nd.zeros((2, 0))) is False
    assert nd.array([[0.5]])
    assert nd.array([math.nan])
    assert not nd.array([0.0])
    assert not nd.array(0)
    for array in (nd.ones((2,)), nd.zeros((2, 1))):
        with pytest.raises(ValueError, match=r"truth value of an array of shape .* is ambiguous"):
            bool(array)


def test_members():
    a = nd.array([1, 2])
    assert 1 in a
    assert 3 not in a
    assert 1 not in nd.array([])
    assert None not in a
    assert list(nd.array([])) == []
    assert len(nd.array([])) == 0


@pytest.mark.parametrize("convert", [int, float, operator.index, math.floor])
@pytest.mark.parametrize("shape", [(0,), (2,), (2, 2)])
def test_several_or_no_elements_are_no_number(convert, shape):
    with pytest.raises(ValueError, match="needs exactly one element, the shape is"):
        convert(nd.zeros(shape, dtype="int32"))


def test_one_element_is_a_number():
    assert int(nd.array([[-3.7]])) == -3
    assert float(nd.array(2.5)) == 2.5
    assert operator.index(nd.array([3], dtype="int32")) == 3
    assert [5, 6, 7][nd.array([2], dtype="int64")] == 7
    with pytest.raises(TypeError, match="float32 cannot be an index"):
        operator.index(nd.array([3]))


def test_nothing_equals_none():
    a = nd.zeros((2,))
    assert (a == None) is False  # noqa: E711
    assert (a != None) is True  # noqa: E711
    assert a is not None
