"""Prints the coefficients of the polynomials in rust/kernels/src/math.

Each is the polynomial that meets its function at the Chebyshev points of an interval, found with
60 digits; its largest error is within a small factor of the best possible. Needs mpmath:
``pip install mpmath && python tools/math/fit.py``.
"""

from __future__ import annotations

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


def worst(f: Function, c: list[Any], low: Any, high: Any) -> float:
    """The largest error of the polynomial in the interval, as far as 2000 points tell."""
    points = [low + (mp.mpf(high) - low) * k / 2000 for k in range(2001)]
    return float(max(abs(mp.polyval(c[::-1], x) - f(x)) for x in points))


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


def hyperbolic(z: Any) -> Any:
    """``(tanh(t) - t) / t ** 3`` for ``z = t * t``."""
    t = mp.sqrt(abs(z))
    return (mp.tanh(t) - t) / t**3


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
    ("TANH_32", hyperbolic, 0, 0.31, 4),
    ("EXP_TWICE", lambda r: mp.exp(2 * r), -0.1735, 0.1735, 6),
    ("LN_32", lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, -0.2930, 0.4143, 8),
    ("ERF", lambda x: -mp.log(mp.erfc(x)) / x, 0, 4.1, 15),
]


def literal(x: Any) -> str:
    """A number as Rust writes it, with its decimals in groups of three."""
    mantissa, _, exponent = repr(float(x)).partition("e")
    whole, _, decimals = mantissa.partition(".")
    groups = [decimals[i : i + 3] for i in range(0, len(decimals), 3)]
    return f"{whole}.{'_'.join(groups)}" + (f"e{exponent}" if exponent else "")


def main() -> None:
    """Prints every table as Rust."""
    for name, f, low, high, degree in TABLES:
        g = series(f)
        c = fit(g, low, high, degree)
        print(f"/// Error {worst(g, c, low, high):.1e} on [{low}, {high}].")
        print(f"const {name}: [f64; {len(c)}] = [")
        for x in c:
            print(f"    {literal(x)},")
        print("];")


if __name__ == "__main__":
    main()
