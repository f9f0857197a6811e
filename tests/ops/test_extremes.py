"""Gradients and outputs at the ends of a type's range, and where formulas lose digits."""

import numpy as np
import pytest
from scipy import special

import ferromix as mx

HALVES = np.arange(2**16, dtype="uint16").view("float16")
HALVES = HALVES[np.isfinite(HALVES)]
"""Every finite float16."""
ROOT_PI = np.sqrt(np.pi)


def slope_of(function, x, dtype, head=1.0):
    data = mx.nd.array(x, dtype=dtype)
    data.attach_grad()
    with mx.autograd.record():
        out = function(data)
    out.backward(mx.nd.full(data.shape, head, dtype=dtype))
    return data.grad.astype("float64").asnumpy()


def of(name, **attrs):
    return lambda x: getattr(mx.nd, name)(x, **attrs)


SLOPES = {
    "expm1": np.exp,
    "log": lambda x: 1 / x,
    "log2": lambda x: 1 / x / np.log(2),
    "log10": lambda x: 1 / x / np.log(10),
    "log1p": lambda x: 1 / (1 + x),
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "rsqrt": lambda x: -0.5 / (x * np.sqrt(x)),
    "cbrt": lambda x: 1 / (3 * np.cbrt(x) ** 2),
    "rcbrt": lambda x: -1 / (3 * x * np.cbrt(x)),
    "reciprocal": lambda x: -1 / (x * x),
    "tan": lambda x: 1 / np.cos(x) ** 2,
    "arcsin": lambda x: 1 / np.sqrt(1 - x * x),
    "arccos": lambda x: -1 / np.sqrt(1 - x * x),
    "arctan": lambda x: 1 / (1 + x * x),
    "arcsinh": lambda x: 1 / np.sqrt(1 + x * x),
    "arccosh": lambda x: 1 / np.sqrt(x * x - 1),
    "arctanh": lambda x: 1 / (1 - x * x),
    "softsign": lambda x: 1 / (1 + np.abs(x)) ** 2,
    "log_sigmoid": lambda x: special.expit(-x),
}
WITH_NUMBERS = {
    **{f"hypot {s}": ("_hypot_scalar", s, lambda x, s: x / np.hypot(x, s)) for s in (0.5, 5e4)},
    **{
        f"power {s}": ("_power_scalar", s, lambda x, s: s * x ** (s - 1))
        for s in (0.125, -0.5, 1.5, 2, 3, -2)
    },
    **{f"{s} over": ("_rdiv_scalar", s, lambda x, s: -s / (x * x)) for s in (0.25, 300)},
}


def assert_slopes(found, expected, rtol):
    """Where float16 has the slope, one of its smallest numbers apart at most."""
    known = np.isfinite(expected) & (np.abs(expected) < 65504)
    np.testing.assert_allclose(found[known], expected[known], rtol=rtol, atol=1.3e-7)
    assert np.isinf(found[np.abs(expected) > 65520]).all()


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_of_every_half(name):
    with np.errstate(all="ignore"):
        expected = SLOPES[name](HALVES.astype("float64"))
    assert_slopes(slope_of(of(name), HALVES, "float16"), expected, 4e-3)


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_slopes_of_every_half_and_a_number(name):
    op, number, rule = WITH_NUMBERS[name]
    with np.errstate(all="ignore"):
        expected = rule(HALVES.astype("float64"), number)
    function = getattr(mx.nd._internal, op)
    assert_slopes(slope_of(lambda x: function(x, scalar=number), HALVES, "float16"), expected, 4e-3)


@pytest.mark.parametrize("op", ["_hypot", "broadcast_hypot"])
def test_hypotenuses_beyond_the_range_of_a_half(op):
    function = getattr(mx.nd._internal, op, None) or getattr(mx.nd, op)
    sides = [mx.nd.array(x, dtype="float16") for x in ([3, 5e4, 6e-8, 6e4], [4e4, 6e4, 0, 1])]
    for side in sides:
        side.attach_grad()
    with mx.autograd.record():
        out = function(*sides)
    out.backward()
    a, b = (s.astype("float64").asnumpy() for s in sides)
    for side, x in zip(sides, (a, b), strict=True):
        np.testing.assert_allclose(side.grad.asnumpy(), x / np.hypot(a, b), rtol=1e-3, atol=6e-8)


def test_powers_beyond_the_range_of_a_half():
    base, exponent = (mx.nd.array(x, dtype="float16") for x in ([3.6e-7, 1e-5], [0.125, 0]))
    base.attach_grad()
    with mx.autograd.record():
        out = base**exponent
    out.backward()
    x, y = (a.astype("float64").asnumpy() for a in (base, exponent))
    np.testing.assert_allclose(base.grad.asnumpy(), y * x ** (y - 1), rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "x", "head"),
    [
        ("sqrt", 0.25, 6e4),
        ("log10", 0.5, 6e4),
        ("log2", 2, 6e4),
        ("rsqrt", 1, 6e4),
        ("cbrt", 1, 6e4),
        ("rcbrt", 1, 6e4),
        ("reciprocal", 250, 6e4),
        ("arctan", 200, 6e4),
    ],
)
def test_large_gradients_of_outputs(name, x, head):
    found = slope_of(of(name), [x], "float16", head)
    half = float(np.float16(head))
    np.testing.assert_allclose(found, [SLOPES[name](np.float64(x)) * half], rtol=3e-3)


SIZES = [0.0, 1e-30, 1e-8, 0.1, 1, 20, 300, 1e4, 1e6, 1e8, 1e15, 3e18, 1e30]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [of("softsign"), of("Activation", act_type="softsign")])
def test_the_slope_of_softsign_keeps_its_digits(function, dtype):
    x = np.array([*SIZES, *(-s for s in SIZES)], dtype)
    expected = 1 / (1 + np.abs(x.astype("float64"))) ** 2
    found = slope_of(function, x, dtype)
    small = float(np.finfo(dtype).smallest_normal)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=small / 2**20)


@pytest.mark.parametrize("function", [of("softsign"), of("Activation", act_type="softsign")])
def test_the_second_derivative_of_softsign_keeps_its_digits(function):
    x = np.array([-1e6, -3, -0.25, 0.5, 300, 1e8], "float32")
    data = mx.nd.array(x)
    data.attach_grad()
    with mx.autograd.record():
        (first,) = mx.autograd.grad(function(data), [data], create_graph=True)
    first.backward()
    expected = -2 * np.sign(x) / (1 + np.abs(x.astype("float64"))) ** 3
    np.testing.assert_allclose(data.grad.asnumpy(), expected, rtol=1e-6)


NEAR_ONE = np.array([1 - 2**-24, 1 - 2**-20, -(1 - 2**-23), 0.999], "float32")


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_slopes_near_one_keep_their_digits(name):
    expected = SLOPES[name](NEAR_ONE.astype("float64"))
    np.testing.assert_allclose(slope_of(of(name), NEAR_ONE, "float32"), expected, rtol=1e-6)


def test_slopes_near_a_limit_keep_their_digits():
    x = np.array([1 + 2**-23, 1.001], "float32")
    expected = SLOPES["arccosh"](x.astype("float64"))
    np.testing.assert_allclose(slope_of(of("arccosh"), x, "float32"), expected, rtol=1e-6)
    x = np.array([-30, -80, -3], "float32")
    np.testing.assert_allclose(slope_of(of("expm1"), x, "float32"), np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("function", [of("relu"), of("Activation", act_type="relu")])
def test_relu_of_nan_and_its_slope_are_nan(function, dtype):
    found = slope_of(function, [np.nan, -1, 0, 2, -np.inf, np.inf], dtype, 3)
    np.testing.assert_array_equal(found, [np.nan, 0, 0, 3, 0, 3])
    found = slope_of(function, [np.nan, -1, 2], dtype, 0)
    np.testing.assert_array_equal(found, [np.nan, 0, 0])
    values = function(mx.nd.array([np.nan, -1, 0, 2, -np.inf, np.inf], dtype=dtype))
    values = values.astype("float64").asnumpy()
    np.testing.assert_array_equal(values, [np.nan, 0, 0, 2, 0, np.inf])


LEAST = {"float64": -np.finfo("float64").max, "float32": -np.finfo("float32").max}
LEAST |= {"float16": -65504.0, "bfloat16": -3.3895313892515355e38}


@pytest.mark.parametrize("dtype", LEAST)
def test_the_maximum_of_an_empty_window(dtype):
    """The least finite number, as MXNet has it."""
    data = mx.nd.ones((1, 1, 1), dtype=dtype)
    out = mx.nd.Pooling(data, kernel=(2,), stride=(2,), pad=(3,), pool_type="max")
    assert out.astype("float64").asnumpy().ravel().tolist() == [LEAST[dtype], 1, LEAST[dtype]]
