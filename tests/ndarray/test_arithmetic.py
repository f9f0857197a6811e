"""Arithmetic and comparison operators of arrays against NumPy, in every element type."""

from __future__ import annotations

import operator

import ml_dtypes
import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError

NUMBERS = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64"]
FLOATS = NUMBERS[:4]
ARITHMETIC = [operator.add, operator.sub, operator.mul]
COMPARISONS = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
PAIRS = [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((), (5,)), ((0, 3), (1, 3))]


def numpy_type(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def small(shape, name, seed):
    return np.random.default_rng(seed).integers(1, 8, shape).astype(numpy_type(name))


def to_nd(a, name):
    return mx.nd.array(a.astype("float64"), dtype=name)


def same(found, expected):
    np.testing.assert_array_equal(found.asnumpy(), np.asarray(expected, found.asnumpy().dtype))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda f: f.__name__)
def test_array_with_array(op, shapes, name):
    a, b = (small(s, name, i) for i, s in enumerate(shapes))
    result = op(to_nd(a, name), to_nd(b, name))
    assert result.dtype_name == name
    same(result, op(a, b).astype(numpy_type(name)))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda f: f.__name__)
def test_array_with_number(op, name):
    a = small((3, 4), name, 0)
    three = numpy_type(name).type(3)
    same(op(to_nd(a, name), 3), op(a, three).astype(numpy_type(name)))
    same(op(3, to_nd(a, name)), op(three, a).astype(numpy_type(name)))


@pytest.mark.parametrize("name", FLOATS)
def test_division_power_and_modulo(name):
    # At most 4, so that no power leaves the range of float16.
    a, b = np.minimum(small((4, 5), name, 0), 4), np.minimum(small((5,), name, 1), 4)
    tolerance = {"float32": 1e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}[name]
    for op in (operator.truediv, operator.mod, operator.pow):
        for left, right in ((a, b), (a, numpy_type(name).type(2))):
            wide = op(left.astype("float64"), np.asarray(right).astype("float64"))
            nd_right = to_nd(right, name) if right is b else 2
            found = op(to_nd(left, name), nd_right).astype("float64").asnumpy()
            np.testing.assert_allclose(found, wide, rtol=tolerance)


def test_negative_modulo_has_the_sign_of_the_divisor():
    a = np.array([-7.0, -1.0, 5.0, 7.5], "float32")
    same(mx.nd.array(a) % 3, a % 3)
    same(mx.nd.array(a) % -3, a % -3)


def test_inplace_operators_keep_the_array():
    a = mx.nd.array([1.0, 2.0])
    handle = a.handle
    a += 1
    a *= mx.nd.array([2.0, 3.0])
    a -= 1
    a /= 2
    assert a.handle is handle
    same(a, [1.5, 4.0])


def test_inplace_cannot_grow():
    a = mx.nd.ones((3,))
    with pytest.raises(InvalidArgumentError, match=r"output 0 must be float32 \[2, 3\]"):
        a += mx.nd.ones((2, 3))
    same(a, [1, 1, 1])


def test_functions():
    a, b = mx.nd.array([1.0, 5.0, 3.0]), mx.nd.array([4.0, 2.0, 3.0])
    same(mx.nd.maximum(a, b), [4, 5, 3])
    same(mx.nd.minimum(a, 2), [1, 2, 2])
    same(mx.nd.maximum(2, a), [2, 5, 3])
    same(mx.nd.add(1, a), [2, 6, 4])
    same(mx.nd.equal(a, b), [0, 0, 1])
    same(abs(-a), [1, 5, 3])


def test_logical_functions():
    a, b = mx.nd.array([0.0, 5.0, 0.0]), mx.nd.array([4.0, 2.0, 0.0])
    same(mx.nd.logical_and(a, b), [0, 1, 0])
    same(mx.nd.logical_or(a, b), [1, 1, 0])
    same(mx.nd.logical_xor(a, b), [1, 0, 0])
    same(mx.nd.logical_and(a, 2), [0, 1, 0])
    same(mx.nd.logical_or(2, a), [1, 1, 1])
    same(mx.nd.logical_xor(0, a), [0, 1, 0])


def test_reflected_operators():
    a = mx.nd.array([1.0, 2.0, 4.0])
    same(8 - a, [7, 6, 4])
    same(8 / a, [8, 4, 2])
    same(2**a, [2, 4, 16])
    same(5 % a, [0, 1, 1])
    a %= 3
    same(a, [1, 2, 1])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_])
def test_numbers_of_numpy(kind):
    a, one = mx.nd.array([1.0, 2.0, 4.0]), kind(1)
    same(a - one, [0, 1, 3])
    same(one - a, [0, -1, -3])
    same(one < a, [0, 1, 1])
    same(a == one, [1, 0, 0])
    same(mx.nd.minimum(one, a), [1, 1, 1])
    a += one
    same(a, [2, 3, 5])


@pytest.mark.parametrize("other", [None, "1", 1j, Ellipsis], ids=repr)
def test_what_is_no_operand_is_not_equal(other):
    a = mx.nd.ones((1,))
    assert (a == other) is False
    assert (other == a) is False
    assert (a != other) is True
    refuses_operand(lambda: mx.nd.equal(a, other), "broadcast_equal")
    refuses_operand(lambda: a < other, "broadcast_lesser")


@pytest.mark.parametrize("other", [[1.0], (1.0,), np.ones(1), np.array(1.0)], ids=repr)
def test_several_numbers_do_not_compare_silently(other):
    a = mx.nd.ones((1,))
    refuses_operand(lambda: a == other, "broadcast_equal")
    refuses_operand(lambda: other != a, "broadcast_not_equal")


def refuses_operand(act, operator):
    with pytest.raises(ArgumentTypeError, match=f"{operator}: an operand must be an NDArray"):
        act()


def test_arrays_are_hashed_by_identity():
    a, b = mx.nd.ones((1,)), mx.nd.ones((1,))
    assert {a: 1, b: 2}[b] == 2
    assert hash(a) != hash(b)


def test_power_has_no_modulo():
    with pytest.raises(TypeError):
        pow(mx.nd.ones((1,)), 2, 3)


def test_numbers_beyond_floats_are_refused():
    with pytest.raises(InvalidArgumentError, match="range of float64"):
        _ = mx.nd.ones((1,)) + 10**400


METHODS = (
    *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos"),
    *("cosh", "degrees", "exp", "expm1", "fix", "floor", "log", "log10", "log1p", "log2"),
    *("radians", "rcbrt", "reciprocal", "relu", "rint", "round", "rsqrt", "sigmoid", "sign"),
    *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_the_functions(name):
    a = mx.nd.array([0.25, 0.5, 1.0])
    found = getattr(a, name)().asnumpy()
    assert found.tobytes() == getattr(mx.nd, name)(a).asnumpy().tobytes()
    assert getattr(mx.sym.Variable("a"), name)().list_arguments() == ["a"]


def test_clip_as_a_method():
    same(mx.nd.array([-1.0, 0.5, 3.0]).clip(0, 1), [0, 0.5, 1])


def test_misuse():
    with pytest.raises(InvalidArgumentError, match="operand must be an NDArray or a number"):
        _ = mx.nd.ones((2,)) + "x"
    with pytest.raises(
        InvalidArgumentError, match=r"broadcast_add.*'rhs' of shape \(2, 4\).*\(2, 3\)"
    ):
        _ = mx.nd.ones((2, 3)) + mx.nd.ones((2, 4))
    with pytest.raises(InvalidArgumentError, match=r"float64.*float32|float32.*float64"):
        _ = mx.nd.ones((2,)) + mx.nd.ones((2,), dtype="float64")
    assert (mx.nd.ones((1,)) == None) is False  # noqa: E711
