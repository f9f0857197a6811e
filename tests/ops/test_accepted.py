"""What MXNet takes beside the plain cases: ranges beyond an axis, fractions for integers, numbers
in place of arrays, inputs of which only the shape counts.

Result types that NumPy does not have were taken from MXNet 1.9.1.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

nd, sym = mx.nd, mx.sym
X = np.arange(12, dtype="float64").reshape(3, 4)
ENDS = (None, -9, -3, -1, 0, 2, 3, 9)
RANGES = [
    (begin, end, step)
    for begin, end, step in itertools.product(ENDS, ENDS, (None, 1, 2, 9, -1, -2))
]


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_slices_beyond_an_axis_are_those_of_python(dtype):
    x = nd.array(X, dtype=dtype)
    for begin, end, step in RANGES:
        expected = X[begin:end:step].astype(dtype)
        attrs = {"begin": (begin,), "end": (end,), "step": (step,)}
        np.testing.assert_array_equal(nd.slice(x, **attrs).asnumpy(), expected)
        inferred = sym.slice(sym.Variable("x"), **attrs).infer_shape_partial(x=(3, 4))
        assert inferred[1] == [expected.shape]


def test_slice_assignment_beyond_an_axis_is_that_of_python():
    for begin, end, step in RANGES:
        attrs = {"begin": (begin,), "end": (end,), "step": (step,)}
        expected = X.copy()
        expected[begin:end:step] = -7
        x = nd.array(X, dtype="float64")
        np.testing.assert_array_equal(
            nd._slice_assign_scalar(x, scalar=-7, **attrs).asnumpy(), expected
        )
        part = nd.array(X[begin:end:step] * 0 - 7, dtype="float64")
        np.testing.assert_array_equal(nd._slice_assign(x, part, **attrs).asnumpy(), expected)


def test_gradient_of_a_slice_beyond_an_axis():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.slice(x, begin=(-9, 2), end=(2, 9))
    y.backward()
    expected = np.zeros((3, 4))
    expected[:2, 2:] = 1
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_a_negative_axis_of_slice_like_counts_in_the_data():
    x = nd.array(X)
    found = nd.slice_like(x, nd.zeros((2, 3, 4)), axes=(-2,))
    np.testing.assert_array_equal(found.asnumpy(), X[:2])
    with pytest.raises(InvalidArgumentError, match="axis 1"):
        nd.slice_like(x, nd.zeros((2,)), axes=(-1,))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool", "float16"])
def test_make_loss_of_every_type(dtype):
    x = nd.array([1, 0, 3], dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        loss = nd.make_loss(x)
    loss.backward()
    assert loss.dtype == x.grad.dtype == x.dtype
    np.testing.assert_array_equal(loss.asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones(3, dtype))


FRACTIONS = {
    "_plus_scalar": lambda x, s: x + s,
    "_minus_scalar": lambda x, s: x - s,
    "_rminus_scalar": lambda x, s: s - x,
    "_mul_scalar": lambda x, s: x * s,
    "_div_scalar": lambda x, s: x / s,
    "_rdiv_scalar": lambda x, s: s / x,
    "_mod_scalar": np.mod,
    "_rmod_scalar": lambda x, s: np.mod(s, x),
    "_power_scalar": np.power,
    "_rpower_scalar": lambda x, s: np.power(s, x),
    "_hypot_scalar": np.hypot,
    "_maximum_scalar": np.maximum,
    "_minimum_scalar": np.minimum,
    "_equal_scalar": np.equal,
    "_not_equal_scalar": np.not_equal,
    "_greater_scalar": np.greater,
    "_greater_equal_scalar": np.greater_equal,
    "_lesser_scalar": np.less,
    "_lesser_equal_scalar": np.less_equal,
    "_logical_and_scalar": np.logical_and,
    "_logical_or_scalar": np.logical_or,
    "_logical_xor_scalar": np.logical_xor,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("name", FRACTIONS)
def test_integers_with_a_fraction_become_float64(name, dtype):
    values = np.array([1, 1, 3], dtype)
    expected = FRACTIONS[name](values.astype("float64"), 1.5).astype("float64")
    x = nd.array(values, dtype=dtype)
    for is_int in (False, "0", "False"):
        found = getattr(nd, name)(x, scalar=1.5, is_int=is_int)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-15)
    graph = getattr(sym, name)(sym.Variable("x", dtype=dtype), scalar=1.5, is_int=False)
    assert graph.infer_type()[1] == [np.float64]
    bound = graph.bind(mx.cpu(), {"x": x})
    np.testing.assert_allclose(bound.forward()[0].asnumpy(), expected, rtol=1e-15)
    whole = getattr(nd, name)(x, scalar=1.5)
    assert whole.dtype == (np.int64 if dtype == "bool" else np.dtype(dtype))


@pytest.mark.parametrize("name", ["_plus_scalar", "_mul_scalar", "_power_scalar", "_rdiv_scalar"])
def test_gradients_of_integers_with_a_fraction(name):
    derivative = {
        "_plus_scalar": lambda x: x * 0 + 1,
        "_mul_scalar": lambda x: x * 0 + 2.5,
        "_power_scalar": lambda x: 2.5 * x**1.5,
        "_rdiv_scalar": lambda x: -2.5 / x**2,
    }[name]
    x = nd.array([1, 4, 9], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, name)(x, scalar=2.5, is_int=False)
    y.backward()
    assert x.grad.dtype == np.int32
    expected = np.trunc(derivative(np.array([1.0, 4, 9])))
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


PAIRS = [(7, 2), (7.5, 2), (-7, 2), (2, 2), (0, 3), (True, False), (np.float32(3), 2)]
OF_NUMBERS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "true_divide": lambda a, b: a / b,
    "modulo": lambda a, b: a % b,
    "power": lambda a, b: a**b,
    "maximum": lambda a, b: a if a > b else b,
    "minimum": lambda a, b: a if a < b else b,
    "equal": lambda a, b: 1 if a == b else 0,
    "not_equal": lambda a, b: 1 if a != b else 0,
    "greater": lambda a, b: 1 if a > b else 0,
    "greater_equal": lambda a, b: 1 if a >= b else 0,
    "lesser": lambda a, b: 1 if a < b else 0,
    "lesser_equal": lambda a, b: 1 if a <= b else 0,
    "logical_and": lambda a, b: 1 if a and b else 0,
    "logical_or": lambda a, b: 1 if a or b else 0,
    "logical_xor": lambda a, b: 1 if bool(a) != bool(b) else 0,
    "hypot": np.hypot,
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_of_two_numbers_functions_make_a_number(name):
    functions = [getattr(m, name) for m in (nd, sym) if name in m.__all__]
    assert functions
    for function, (a, b) in itertools.product(functions, PAIRS):
        if b == 0 and name in ("divide", "true_divide", "modulo"):
            continue
        found, expected = function(a, b), OF_NUMBERS[name](a, b)
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.divide(1, 0),
        lambda: nd.modulo(1, 0),
        lambda: nd.power(10.0, 400),
        lambda: nd.power(10, 10**9),
        lambda: sym.power(0, -1),
    ],
)
def test_numbers_without_a_result(call):
    with pytest.raises(InvalidArgumentError, match=r"(div|mod|power) of \S+ and \S+: "):
        call()


TYPES = ("float32", "float16", "int32", "bool")
LIKE = {
    "broadcast_like": ((2, 1), (2, 3), {}),
    "reshape_like": ((3, 2), (2, 3), {}),
    "slice_like": ((4, 4), (2, 3), {}),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize(("mine", "other"), list(itertools.product(TYPES, TYPES)))
def test_inputs_that_give_a_shape_may_have_any_type(name, mine, other):
    first, second, attrs = LIKE[name]
    lhs, rhs = nd.ones(first, dtype=mine), nd.zeros(second, dtype=other)
    found = getattr(nd, name)(lhs, rhs, **attrs)
    assert found.dtype == lhs.dtype
    np.testing.assert_array_equal(found.asnumpy(), np.ones(second, mine))
    graph = getattr(sym, name)(sym.Variable("l", dtype=mine), sym.Variable("r", dtype=other))
    kinds = [np.dtype(mine).type, np.dtype(other).type]
    assert graph.infer_type() == (kinds, kinds[:1], [])
    if mine.startswith("float"):
        lhs.attach_grad()
        with mx.autograd.record():
            found = getattr(nd, name)(lhs, rhs, **attrs)
        found.backward()
        assert lhs.grad.dtype == lhs.dtype
        assert lhs.grad.asnumpy().sum() == 6


def test_a_slice_of_no_ranges_is_everything():
    x = mx.nd.array(np.arange(6.0).reshape(2, 3))
    assert (mx.nd.slice(x, begin=(), end=()).asnumpy() == x.asnumpy()).all()


@pytest.mark.parametrize("name", ["ceil", "floor", "fix", "rint", "round", "trunc"])
def test_rounding_leaves_integers_as_they_are(name):
    values = np.array([2**62 + 1, -(2**53) - 1, 0, 7])  # that float64 lacks, but for two
    found = getattr(mx.nd, name)(mx.nd.array(values, dtype="int64"))
    np.testing.assert_array_equal(found.asnumpy(), values)
