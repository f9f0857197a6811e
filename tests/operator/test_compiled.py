"""Operators of compiled functions, by address, without Python."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError
from ferromix.operator import CompiledOp, ScalarFunction, SimpleOp

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
X = np.random.default_rng(3).normal(size=(4, 5))
WHOLE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)),
    ctypes.POINTER(ctypes.c_double),
)


def register(name, *args, **kwargs):
    if not hasattr(mx.nd, name):
        CompiledOp(name, *args, **kwargs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_a_function_of_numbers_is_mapped_over_elements(dtype):
    name = f"test_cos_{dtype}"
    SimpleOp(name).set_function(ScalarFunction(LIBM.cos)).register()
    for values in (X, X.T, X[::2, 1:], X[:0], X.reshape(1, 20)):
        given = (values * 3).astype(dtype)
        found = getattr(mx.nd, name)(mx.nd.array(given, dtype=dtype)).asnumpy()
        assert found.dtype == given.dtype
        expected = np.cos(given.astype("float64")).astype(dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_two_inputs_single_precision_and_a_gradient():
    op = SimpleOp("test_hypot", inputs=2)
    op.set_function(ScalarFunction(LIBM.hypotf, "float32"))
    op.register()
    a, b = X.astype("float32"), X[::-1].astype("float32")
    found = mx.nd.test_hypot(mx.nd.array(a), mx.nd.array(b)).asnumpy()
    np.testing.assert_allclose(found, np.hypot(a, b), rtol=1e-6)
    symbol = mx.sym.test_hypot(mx.sym.var("a"), mx.sym.var("b"))
    (bound,) = symbol.bind(mx.cpu(), {"a": mx.nd.array(a), "b": mx.nd.array(b)}).forward()
    np.testing.assert_array_equal(bound.asnumpy(), found)
    with pytest.raises(InvalidArgumentError, match="test_hypot"):
        mx.nd.test_hypot(mx.nd.array(a), mx.nd.array(b[:2]))


@WHOLE
def times(data, ndim, shape, scalars):
    count = int(np.prod([shape[0][i] for i in range(ndim[0])], dtype=int))
    source, target = (ctypes.cast(data[i], ctypes.POINTER(ctypes.c_float)) for i in range(2))
    for i in range(count):
        target[i] = source[i] * scalars[0]
    return 0 if scalars[0] >= 0 else 7


def test_a_function_of_whole_arrays_and_the_number_that_it_fails_with():
    register("test_times", times, scalars={"factor": 2.0})
    x = mx.nd.array(X)
    np.testing.assert_allclose(mx.nd.test_times(x).asnumpy(), 2 * X, rtol=1e-6)
    np.testing.assert_allclose(mx.nd.test_times(x.T, factor=3).asnumpy(), 3 * X.T, rtol=1e-6)
    with pytest.raises(mx.MXNetError, match=r"test_times.*7"):
        mx.nd.test_times(x, factor=-1).wait_to_read()


def test_what_is_no_address_is_refused():
    for wrong in (None, "cos", len, True, 3.5):
        with pytest.raises(ArgumentTypeError, match="address of a compiled function"):
            ScalarFunction(wrong)
    for wrong in (0, -1, 2**64):
        with pytest.raises(InvalidArgumentError, match="an address"):
            ScalarFunction(wrong)
    with pytest.raises(InvalidArgumentError, match="float32 or float64"):
        ScalarFunction(LIBM.cos, "int8")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="1 to 4 numbers"):
        SimpleOp("test_many", inputs=2).set_function(ScalarFunction(LIBM.pow)).set_enable_kwargs(
            {n: mx.operator.Param("float", 0.0, "A number.") for n in "abc"}
        ).register()
