"""Functions of integers are exact where results are whole, which CUDA's own are not."""

from __future__ import annotations

from math import factorial, isqrt

import numpy as np
import pytest

import ferromix as mx

GPU = mx.gpu(0)
TYPES = ["uint8", "int8", "int32", "int64"]
EXACT = 2**53
"""All whole numbers up to here are float64s."""


def array(values, dtype):
    return mx.nd.array(np.array(values, dtype), ctx=GPU, dtype=dtype)


def check(found, expected, dtype):
    np.testing.assert_array_equal(found.asnumpy(), np.array(expected, dtype))


def most(dtype):
    return min(np.iinfo(dtype).max, EXACT)


@pytest.mark.parametrize("dtype", TYPES)
def test_powers(dtype):
    pairs = [(a, b) for a in range(1, 60) for b in range(60) if a**b <= most(dtype)]
    bases, exponents = zip(*pairs, strict=True)
    expected = [a**b for a, b in pairs]
    check(mx.nd.broadcast_power(array(bases, dtype), array(exponents, dtype)), expected, dtype)
    three = [b for b in range(40) if 3**b <= most(dtype)]
    check(3 ** array(three, dtype), [3**b for b in three], dtype)
    roots = [a for a in range(1, 3000) if a**3 <= most(dtype)]
    check(array(roots, dtype) ** 3, [a**3 for a in roots], dtype)


@pytest.mark.parametrize("dtype", [t for t in TYPES if t != "uint8"])
def test_powers_below_zero(dtype):
    cubes = [-a for a in range(1, 3000) if a**3 <= most(dtype)]
    check(array(cubes, dtype) ** 3, [a**3 for a in cubes], dtype)
    bases, exponents = array([-1, 1, 2, -2, 0], dtype), array([-3, -5, -1, -1, 0], dtype)
    check(mx.nd.broadcast_power(bases, exponents), [-1, 1, 0, 0, 1], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_roots_of_sums_of_squares(dtype):
    large = [(3 * k, 4 * k) for k in (1, 7, 1000, 12_345_677, 400_000_001)]
    pairs = [(a, b) for a in range(100) for b in range(100)] + large
    pairs = [(a, b) for a, b in pairs if a * a + b * b <= most(dtype) ** 2]
    a, b = (array(some, dtype) for some in zip(*pairs, strict=True))
    check(mx.nd.broadcast_hypot(a, b), [isqrt(a * a + b * b) for a, b in pairs], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_one_number(dtype):
    factors = [n for n in range(1, 19) if factorial(n - 1) <= most(dtype)]
    check(mx.nd.gamma(array(factors, dtype)), [factorial(n - 1) for n in factors], dtype)
    roots = [n for n in range(1, 2000) if n**3 <= most(dtype)]
    check(mx.nd.cbrt(array([n**3 for n in roots], dtype)), roots, dtype)
    for function, base in ((mx.nd.log2, 2), (mx.nd.log10, 10)):
        powers = [n for n in range(53) if base**n <= most(dtype)]
        check(function(array([base**n for n in powers], dtype)), powers, dtype)
    check(mx.nd.rcbrt(array([1], dtype)), [1], dtype)
