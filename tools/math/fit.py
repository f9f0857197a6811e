"""Prints the coefficients of the polynomials in rust/kernels/src/math.

Each is the polynomial that meets its function at the Chebyshev points of an interval, found with
60 digits; its largest error is within a small factor of the best possible. Those for arithmetic in
single precision are found by least squares of the error of the result, and one coefficient after
another is rounded, so that the later ones make up for it. Needs mpmath:
``pip install mpmath && python tools/math/fit.py``.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[Any], Any]


def fit(f: Function, low: Any, high: Any, degree: int) -> list[Any]:
    """The coefficients, lowest first, of the polynomial that meets `f` at Chebyshev points."""
    n = degree + 1
    middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def single(x: Any) -> Any:
    """`x` rounded to single precision."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit_single(f: Function, weight: Function, low: Any, high: Any, degree: int) -> list[Any]:
    """Coefficients in single precision, lowest first, by least squares of the weighted error."""
    n = 128
    middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    weights, values = [weight(x) for x in nodes], [f(x) for x in nodes]
    c: list[Any] = []
    while len(c) <= degree:
        matrix, rest = mp.matrix(n, degree + 1 - len(c)), mp.matrix(n, 1)
        for i, x in enumerate(nodes):
            rest[i] = weights[i] * (values[i] - sum(a * x**j for j, a in enumerate(c)))
            for j in range(matrix.cols):
                matrix[i, j] = weights[i] * x ** (j + len(c))
        c.append(single(mp.lu_solve(matrix, rest)[0]))
    return c


def worst(f: Function, weight: Function, c: list[Any], low: Any, high: Any) -> float:
    """The largest error of the polynomial in the interval, as far as 2000 points tell."""
    points = [low + (mp.mpf(high) - low) * k / 2000 for k in range(2001)]
    return float(max(abs(weight(x) * (mp.polyval(c[::-1], x) - f(x))) for x in points))


def series(f: Function) -> Function:
    """`f`, continued to its removable singularity at 0."""
    return lambda x: f(x) if abs(x) > mp.mpf(10) ** -20 else f(mp.mpf(10) ** -20)


def sine(z: Any) -> Any:
    """``(sin r - r) / r ** 3`` for ``z = r * r``."""
    r = mp.sqrt(abs(z))
    return (mp.sin(r) - r) / r**3


def cosine(z: Any) -> Any:
    """``(cos r - 1 + z / 2) / z ** 2`` for ``z = r * r``."""
    return (mp.cos(mp.sqrt(abs(z))) - 1 + z / 2) / z**2


def artanh(z: Any) -> Any:
    """``(artanh(s) - s) / s ** 3`` for ``z = s * s``."""
    s = mp.sqrt(abs(z))
    return (mp.atanh(s) - s) / s**3


def arctangent(z: Any) -> Any:
    """``(atan(t) - t) / t ** 3`` for ``z = t * t``."""
    t = mp.sqrt(abs(z))
    return (mp.atan(t) - t) / t**3


TABLES: list[tuple[str, Function, Any, Any, int]] = [
    ("EXP", lambda r: (mp.expm1(r) - r) / r**2, -0.3467, 0.3467, 10),
    ("EXP_SHORT", lambda r: (mp.expm1(r) - r) / r**2, -0.3467, 0.3467, 5),
    ("SIN", sine, 0, 0.6170, 6),
    ("COS", cosine, 0, 0.6170, 6),
    ("SIN_SHORT", sine, 0, 2.4675, 4),
    ("ARTANH", artanh, 0, 0.02945, 7),
    ("ARTANH_SHORT", artanh, 0, 0.02945, 2),
    ("ATAN", arctangent, 0, 0.1716, 6),
    ("ATAN_SHORT", arctangent, 0, 0.1716, 4),
    ("ERF", lambda x: -mp.log(mp.erfc(x)) / x, 0, 4.1, 15),
]


def of_root(f: Function) -> Function:
    """The weight of an error of ``q`` in ``f(x) = x + x ** 3 q(x * x)``, relative to ``f``."""
    return series(lambda z: mp.sqrt(abs(z)) ** 3 / f(mp.sqrt(abs(z))))


def logarithmic(base: Any) -> tuple[Function, Function, Any, Any, int]:
    """``(log(1 + f) - f / ln(base)) / f ** 2``, and so on; errors are relative to the logarithm."""
    return (
        lambda f: (mp.log1p(f) - f) / (mp.log(base) * f**2),
        series(lambda f: abs(f * f * mp.log(base) / mp.log1p(f))),
        -0.2930,
        0.4143,
        7,
    )


# With the weights of the errors.
SINGLE_TABLES: list[tuple[str, Function, Function, Any, Any, int]] = [
    ("LN_32", *logarithmic(mp.e)),
    ("LOG2_32", *logarithmic(2)),
    ("LOG10_32", *logarithmic(10)),
    # A little more than a quarter turn: the reduction rounds.
    ("SIN_32", sine, of_root(mp.sin), 0, 2.4775, 3),
    ("ATAN_32", arctangent, of_root(mp.atan), 0, 1, 7),
    # For powers: that of 1 + f, less f / ln 2, by the square of f; and 2 ** r, less 1, by r.
    (
        "LOG2_NEAR",
        lambda f: (mp.log1p(f) / mp.log(2) - f / mp.log(2)) / f**2,
        abs,
        -0.0198,
        0.0198,
        3,
    ),
    ("EXP2_NEAR", lambda r: mp.expm1(r * mp.log(2)) / r, abs, -0.0157, 0.0157, 2),
]


def from_bits(bits: int) -> Any:
    """The number in single precision that has these bits."""
    return mp.mpf(struct.unpack("f", struct.pack("I", bits))[0])


def tanh_tables() -> list[list[Any]]:
    """Coefficients of ``tanh(b + r)`` in powers of ``r``: a list for each power.

    ``b + 0.625`` has 3 bits after the first; the last 5 of its first 12 number the entry.
    """
    offset = mp.mpf(0.625)
    tables = [[mp.mpf(0)] * 32 for _ in range(5)]
    for bits in range(126 * 8 + 2, 130 * 8 + 2):
        y, end = from_bits(bits << 20), from_bits((bits + 1) << 20)
        for table, x in zip(tables, near(y - offset, end - y), strict=True):
            table[bits & 31] = x
    return tables


def near(b: Any, width: Any) -> list[Any]:
    """Coefficients of ``tanh(b + r)`` for ``r`` up to `width`."""
    if b != 0:
        return fit_single(lambda r: mp.tanh(b + r), lambda r: 1 / mp.tanh(b + r), 0, width, 4)
    # Relative to the argument, so that zero and little numbers stay.
    q = series(lambda r: mp.tanh(r) / r)
    return [mp.mpf(0), *fit_single(q, lambda _: 1, 0, width, 3)]


# 32 intervals of equal length in bits begin at this number, which has the bits 0x3f360000; one of
# them has 1 in it.
FIRST = 0x3F360000


def inverse(low: Any, high: Any) -> Any:
    """A number near the inverse of all between, for which ``m * inverse - 1`` needs no rounding."""
    if low < 1 < high:
        return mp.mpf(1)
    found = []
    for bits in range(8):
        middle = mp.nint(2 / (low + high) * 2**bits)
        for v in ((middle + d) / mp.mpf(2) ** bits for d in (-1, 0, 1)):
            most = max(abs(low * v - 1), abs(high * v - 1))
            last = mp.mpf(2) ** -(bits + (24 if low < 1 else 23))
            if most <= last * 2**24:
                found.append((most, v))
    return min(found)[1]


def power_tables() -> list[tuple[str, list[Any]]]:
    """Inverses, their logarithms to base 2 in two parts, and powers of 2 in two parts.

    The first parts of the logarithms end 15 bits after the point.
    """
    edges = [from_bits(FIRST + (i << 18)) for i in range(33)]
    inverses = [inverse(a, b) for a, b in itertools.pairwise(edges)]
    logs = [-mp.log(v) / mp.log(2) for v in inverses]
    high = [mp.nint(x * 2**15) / 2**15 for x in logs]
    roots = [mp.mpf(2) ** (mp.mpf(i) / 32) for i in range(32)]
    return [
        ("INVERSE", inverses),
        ("LOG2_HIGH", high),
        ("LOG2_LOW", [single(x - h) for x, h in zip(logs, high, strict=True)]),
        ("EXP2_HIGH", [single(x) for x in roots]),
        ("EXP2_LOW", [single(x - single(x)) for x in roots]),
    ]


def literal(digits: str) -> str:
    """A number as Rust writes it, with its decimals in groups of three."""
    mantissa, _, exponent = digits.partition("e")
    whole, _, decimals = mantissa.partition(".")
    groups = [decimals[i : i + 3] for i in range(0, len(decimals), 3)]
    return f"{whole}.{'_'.join(groups) or '0'}" + (f"e{exponent}" if exponent else "")


def shortest(x: Any) -> str:
    """The fewest digits that tell a number from its neighbours in single precision."""
    return next(d for n in range(1, 10) if single(d := f"{float(x):.{n}g}") == x)


def show(kind: str, name: str, error: float, c: list[str], low: Any, high: Any) -> None:
    """Prints one table."""
    print(f"/// Error {error:.1e} on [{low}, {high}].")
    print(f"const {name}: [{kind}; {len(c)}] = [")
    for digits in c:
        print(f"    {literal(digits)},")
    print("];")


def main() -> None:
    """Prints every table as Rust."""
    for name, f, low, high, degree in TABLES:
        g = series(f)
        c = fit(g, low, high, degree)
        digits = [repr(float(x)) for x in c]
        show("f64", name, worst(g, lambda _: 1, c, low, high), digits, low, high)
    for name, f, weight, low, high, degree in SINGLE_TABLES:
        g = series(f)
        c = fit_single(g, weight, low, high, degree)
        error = worst(g, weight, c, low, high)
        show("f32", name, error, [shortest(x) for x in c], low, high)
    tables = [(f"TANH[{k}]", c) for k, c in enumerate(tanh_tables())]
    for name, numbers in tables + power_tables():
        print(f"static {name}: Table = Table([")
        for i in range(0, 32, 5):
            print("   ", *(f"{literal(shortest(x))}," for x in numbers[i : i + 5]))
        print("]);")


if __name__ == "__main__":
    main()
