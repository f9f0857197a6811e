"""Prints the coefficients of the polynomials in rust/kernels/src/math.

Each is the polynomial that meets its function at the Chebyshev points of an interval, found with
60 digits; its largest error is within a small factor of the best possible. Those for arithmetic in
single precision are found by least squares of the error of the result, and one coefficient after
another is rounded, so that the later ones make up for it. Needs mpmath:
``pip install mpmath && python tools/math/fit.py``.
"""

from __future__ import annotations

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


def logarithm(z: Any) -> Any:
    """``log2((1 + s) / (1 - s)) / s`` for ``z = s * s``."""
    s = mp.sqrt(abs(z))
    return 2 * mp.atanh(s) / (s * mp.log(2))


TABLES: list[tuple[str, Function, Any, Any, int]] = [
    ("EXP", lambda r: (mp.expm1(r) - r) / r**2, -0.3467, 0.3467, 10),
    ("EXP_SHORT", lambda r: (mp.expm1(r) - r) / r**2, -0.3467, 0.3467, 5),
    ("SIN", sine, 0, 0.6170, 6),
    ("COS", cosine, 0, 0.6170, 6),
    ("SIN_SHORT", sine, 0, 2.4675, 4),
    ("ARTANH", artanh, 0, 0.02945, 7),
    ("ARTANH_SHORT", artanh, 0, 0.02945, 2),
    ("LOG2", logarithm, 0, 0.02945, 4),
    ("EXP2_SHORT", lambda r: mp.mpf(2) ** r, -0.5, 0.5, 6),
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
    ("TANH_32", lambda r: 1.5 * (mp.expm1(2 * r) - 2 * r) / r**2, lambda _: 1, -0.1735, 0.1735, 4),
    ("LN_32", *logarithmic(mp.e)),
    ("LOG2_32", *logarithmic(2)),
    ("LOG10_32", *logarithmic(10)),
    # A little more than a quarter turn: the reduction rounds.
    ("SIN_32", sine, of_root(mp.sin), 0, 2.4775, 3),
    ("ATAN_32", arctangent, of_root(mp.atan), 0, 1, 7),
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


if __name__ == "__main__":
    main()
