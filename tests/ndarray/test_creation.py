"""Creation, conversion and copies of arrays of every element type, against NumPy."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError
from ferromix.ops.param import DTYPES

SHAPES = [(), (0,), (1,), (3, 0, 2), (5,), (2, 3, 4), (1, 1, 7, 1)]


def numpy_type(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def values(shape, name, seed=0) -> np.ndarray:
    """Values that every element type of that kind holds exactly."""
    whole = np.random.default_rng(seed).integers(0, 100, shape)
    return np.asarray(whole % 2 if name == "bool" else whole)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_array_round_trips_through_numpy(name, shape):
    expected = values(shape, name).astype(numpy_type(name))
    array = mx.nd.array(expected.astype("float64"), dtype=name)
    assert array.shape == shape
    assert array.dtype_name == name
    assert array.size == expected.size
    np.testing.assert_array_equal(array.asnumpy(), expected.astype(array.asnumpy().dtype))


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_astype_agrees_with_numpy(source, target):
    expected = values((4, 5), source).astype(numpy_type(source)).astype(numpy_type(target))
    found = mx.nd.array(values((4, 5), source), dtype=source).astype(target)
    assert found.dtype_name == target
    np.testing.assert_array_equal(found.asnumpy(), expected.astype(found.asnumpy().dtype))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_round_to_nearest_even(name):
    exact = np.random.default_rng(3).normal(size=1000).astype("float32")
    exact[:4] = [np.inf, -np.inf, 65520.0, 1e-7]
    with np.errstate(over="ignore"):
        expected = exact.astype(numpy_type(name)).astype("float32")
    np.testing.assert_array_equal(
        mx.nd.array(exact).astype(name).astype("float32").asnumpy(), expected
    )


def test_default_type_is_that_of_mxnet():
    assert mx.nd.array(np.arange(3, dtype="int64")).dtype is np.float32
    assert mx.nd.array(mx.nd.array([1], dtype="int32")).dtype is np.int32
    assert mx.nd.array([[1, 2], [3, 4]], dtype=np.uint8).dtype is np.uint8


@pytest.mark.parametrize("name", DTYPES)
def test_fills(name):
    kind = mx.nd.zeros((1,), dtype=name).asnumpy().dtype
    np.testing.assert_array_equal(mx.nd.zeros((2, 3), dtype=name).asnumpy(), np.zeros((2, 3), kind))
    np.testing.assert_array_equal(mx.nd.ones((2, 0), dtype=name).asnumpy(), np.ones((2, 0), kind))
    np.testing.assert_array_equal(mx.nd.full((), 1, dtype=name).asnumpy(), np.ones((), kind))


def test_arange_agrees_with_numpy():
    np.testing.assert_array_equal(mx.nd.arange(7).asnumpy(), np.arange(7, dtype="float32"))
    np.testing.assert_array_equal(
        mx.nd.arange(2, 9, 3, dtype="int32").asnumpy(), np.arange(2, 9, 3, dtype="int32")
    )
    np.testing.assert_array_equal(
        mx.nd.arange(0, 3, repeat=2).asnumpy(), np.repeat(np.arange(3, dtype="float32"), 2)
    )


@pytest.mark.parametrize("stop", [3, -3])
def test_a_range_of_more_steps_than_numbers_is_refused(stop):
    with pytest.raises(InvalidArgumentError, match=r"_arange: .* make no range"):
        mx.nd.arange(2, stop=stop, step=5e-324)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("ends", [(0, 8, 5), (2, -2, 3), (7, 9, 1), (7, 9, 0)])
def test_linspace_agrees_with_numpy(ends, endpoint, dtype):
    found = mx.nd.linspace(*ends, endpoint=endpoint, dtype=dtype)
    expected = np.trunc(np.linspace(*ends, endpoint=endpoint)) if dtype == "int32" else None
    expected = np.linspace(*ends, endpoint=endpoint) if expected is None else expected
    assert found.dtype_name == dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-7)
    (computed,) = mx.sym.linspace(*ends, endpoint=endpoint, dtype=dtype).eval()
    np.testing.assert_array_equal(computed.asnumpy(), found.asnumpy())


@pytest.mark.parametrize("shape", [(3,), (3, 4), (4, 2, 1), (4, 2, -2), (2, 2, 9), (0,)])
def test_eye_agrees_with_numpy(shape):
    rows, columns, k = (*shape, 0, 0)[:3]
    expected = np.eye(rows, columns or rows, k, dtype="float32")
    np.testing.assert_array_equal(mx.nd.eye(*shape).asnumpy(), expected)
    np.testing.assert_array_equal(mx.sym.eye(*shape).eval()[0].asnumpy(), expected)
    assert mx.nd.eye(2, dtype="int64").dtype == np.int64


def test_copies_are_independent():
    a = mx.nd.array([1.0, 2.0])
    b = a.copy()
    a[:] = 7
    np.testing.assert_array_equal(b.asnumpy(), [1, 2])
    a.copyto(b)
    np.testing.assert_array_equal(b.asnumpy(), [7, 7])


def test_numpy_protocols():
    a = mx.nd.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.asarray(a), a.asnumpy())
    assert np.asarray(a, dtype="int32").dtype == np.int32
    with pytest.raises(ValueError, match="copy"):
        np.array(a, dtype="int32", copy=False)
    with pytest.raises(InvalidArgumentError, match="operand must be"):
        _ = np.ones((2, 2)) + a


def test_noncontiguous_numpy_sources():
    source = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for view in (source.T, source[:, ::2], source[::-1], source[..., 1]):
        np.testing.assert_array_equal(mx.nd.array(view).asnumpy(), view)


def test_scalars():
    assert mx.nd.array([2.5]).asscalar() == np.float32(2.5)
    assert int(mx.nd.array(7, dtype="int64")) == 7
    assert float(mx.nd.array([[0.5]], dtype="bfloat16")) == 0.5
    assert bool(mx.nd.array([0])) is False
    with pytest.raises(InvalidArgumentError, match=r"exactly one element.*\(2,\)"):
        mx.nd.zeros((2,)).asscalar()
    with pytest.raises(InvalidArgumentError, match="ambiguous"):
        bool(mx.nd.zeros((2,)))


def test_pickle():
    a = mx.nd.array(np.arange(6).reshape(2, 3), dtype="bfloat16")
    b = pickle.loads(pickle.dumps(a))
    assert b.dtype_name == "bfloat16"
    np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_repr_shows_values_and_place():
    text = repr(mx.nd.array([[1, 2]]))
    assert "[[1. 2.]]" in text
    assert "<NDArray 1x2 @cpu(0)>" in text


def test_context_and_bad_requests():
    assert mx.nd.zeros((1,)).context == mx.cpu()
    with mx.Context("cpu", 1):
        assert mx.current_context() == mx.cpu(1)
    with pytest.raises(mx.error.DeviceError, match=r"use (ferromix\.)?cpu\(\)"):
        mx.nd.zeros((1,), ctx=mx.gpu(9))
    with pytest.raises(InvalidArgumentError, match=r"unknown dtype.*known: float32"):
        mx.nd.zeros((1,), dtype="complex64")
    with pytest.raises(InvalidArgumentError, match="negative"):
        mx.nd.empty((2, -1))
    with pytest.raises(InvalidArgumentError, match="unknown device type 'tpu'"):
        mx.Context("tpu")


@pytest.mark.parametrize(
    ("given", "found"), [(float, "float64"), (int, "int64"), (None, "float32")]
)
def test_types_of_python_are_those_of_mxnet(given, found):
    assert mx.nd.zeros((2,), dtype=given).dtype_name == found
    assert mx.nd.ones((2,), dtype="float16").astype(given).dtype_name == found


def test_the_type_of_an_array_of_bfloat16_is_a_type():
    dtype = mx.nd.ones((2,), dtype="bfloat16").dtype
    made = [
        mx.nd.zeros((2,), dtype=dtype),
        mx.nd.array([1, 2], dtype=dtype),
        mx.nd.ones((2,)).astype(dtype),
        mx.nd.cast(mx.nd.ones((2,)), dtype=dtype),
        mx.sym.relu(mx.sym.Variable("a", dtype=dtype)).simple_bind(mx.cpu(), a=(2,)).forward()[0],
    ]
    assert {array.dtype_name for array in made} == {"bfloat16"}
