"""Operators of compiled functions, by address, without Python."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import shutil
import subprocess
import sysconfig

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


SOURCE = """
#include <stdint.h>
double soft(double x, double slope) { return x > 0 ? x : slope * x; }
double soft_grad(double grad, double x, double slope) { return x > 0 ? grad : slope * grad; }
int64_t sums(void **data, const int64_t *ndim, const int64_t **shape, const double *scalars) {
    const float *x = data[0];
    float *rows = data[1], *total = data[2];
    if (ndim[0] != 2) return 3;
    *total = 0;
    for (int64_t i = 0; i < shape[0][0]; i++) {
        rows[i] = 0;
        for (int64_t j = 0; j < shape[0][1]; j++) rows[i] += x[i * shape[0][1] + j] * scalars[0];
        *total += rows[i];
    }
    return 0;
}
int64_t sums_grad(void **data, const int64_t *ndim, const int64_t **shape, const double *scalars) {
    const float *rows = data[0], *total = data[1];
    float *grad = data[5];
    for (int64_t i = 0; i < shape[2][0]; i++)
        for (int64_t j = 0; j < shape[2][1]; j++)
            grad[i * shape[2][1] + j] = (rows[i] + *total) * scalars[0];
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A shared library of the functions above."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler called cc")
    folder = tmp_path_factory.mktemp("compiled")
    source, made = folder / "f.c", folder / f"f{sysconfig.get_config_var('SHLIB_SUFFIX')}"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", made], check=True)
    return ctypes.CDLL(str(made))


def gradient_of(call, *arrays):
    """What a call gives, and the gradient of the first array for gradients of ones."""
    arrays[0].attach_grad()
    with mx.autograd.record():
        out = call(*arrays)
    mx.autograd.backward(out)
    return out, arrays[0].grad.asnumpy()


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 2), (2, 0)])
def test_functions_that_a_compiler_made(library, shape):
    if not hasattr(mx.nd, "test_c_soft"):
        op = SimpleOp("test_c_soft").set_enable_scalar()
        op.set_function(ScalarFunction(library.soft))
        op.set_gradient("T2", ScalarFunction(library.soft_grad)).register()
    register(
        "test_c_sums",
        library.sums,
        outputs=["rows", "total"],
        infer_shape=lambda x: [x[:1], (1,)],
        scalars={"factor": 1},
        gradient=library.sums_grad,
    )
    value = np.random.default_rng(1).normal(size=shape).astype("float32")
    out, slope = gradient_of(lambda x: mx.nd.test_c_soft(x, scalar=0.25), mx.nd.array(value))
    np.testing.assert_allclose(out.asnumpy(), np.where(value > 0, value, value / 4), rtol=1e-6)
    np.testing.assert_allclose(slope, np.where(value > 0, 1, 0.25), rtol=1e-6)
    sums, slope = gradient_of(lambda x: mx.nd.test_c_sums(x, factor=3), mx.nd.array(value))
    np.testing.assert_allclose(sums[0].asnumpy(), 3 * value.sum(axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums[1].asscalar(), 3 * value.sum(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(slope, np.full(shape, 6), rtol=1e-6)


def test_a_function_that_numba_compiled():
    """As ``ScalarFunction`` and ``CompiledOp``, by the ``address`` of a ``cfunc``."""
    numba = pytest.importorskip("numba", reason="numba is not installed")
    types = numba.types

    @numba.cfunc("float64(float64, float64)")
    def bend(x, power):
        return math.copysign(abs(x) ** power, x)

    SimpleOp("test_numba_bend").set_enable_scalar().set_function(ScalarFunction(bend)).register()
    value = np.random.default_rng(2).normal(size=(4, 3)).astype("float32")
    found = mx.nd.test_numba_bend(mx.nd.array(value), scalar=0.5).asnumpy()
    np.testing.assert_allclose(found, np.sign(value) * np.sqrt(np.abs(value)), rtol=1e-6)

    numbers, pointers = types.CPointer(types.int64), types.CPointer(types.CPointer(types.int64))
    arrays = types.CPointer(types.CPointer(types.float32))

    @numba.cfunc(types.int64(arrays, numbers, pointers, types.CPointer(types.float64)))
    def double_all(data, ndim, shape, scalars):
        count = 1
        for axis in range(ndim[0]):
            count *= shape[0][axis]
        for i in range(count):
            data[1][i] = data[0][i] * scalars[0]
        return 0

    register("test_numba_double", double_all, scalars={"factor": 2.0})
    found = mx.nd.test_numba_double(mx.nd.array(value).T, factor=5).asnumpy()
    np.testing.assert_allclose(found, 5 * value.T, rtol=1e-6)


@pytest.mark.parametrize("found", [3, None, [3], [(-1,)], [(2,), (2,)], [("a",)]])
def test_what_infer_shape_of_a_compiled_operator_returns_is_checked(found):
    name = f"test_c_wrong_{abs(hash(str(found)))}"
    CompiledOp(name, times, infer_shape=lambda shape: found)
    with pytest.raises(InvalidArgumentError, match=rf"{name}: infer_shape must return a list of 1"):
        getattr(mx.nd, name)(mx.nd.ones((2,)))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"arguments": "data"}, "arguments must be a list of names"),
        ({"outputs": None}, "outputs must be a list of names"),
        ({"outputs": ["a", "a"]}, "outputs need names that differ"),
        ({"outputs": []}, "at least 1"),
        ({"scalars": {"data": 1.0}}, "'data' has the name of an input"),
        ({"scalars": {"out": 1.0}}, "none of attr, ctx, name, out, self"),
        ({"scalars": {"a": "b"}}, "scalars must be numbers, got 'a': 'b'"),
        ({"scalars": [1]}, "must be a dict of numbers"),
        ({"infer_shape": 3}, "infer_shape must be callable, got 3"),
        ({"dtype": 3}, "dtype must be one of"),
    ],
)
def test_what_is_said_of_a_compiled_operator_is_checked(fields, said):
    with pytest.raises((InvalidArgumentError, ArgumentTypeError), match=f"test_c_said.*{said}"):
        CompiledOp("test_c_said", times, **fields)
