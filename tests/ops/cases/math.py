"""Functions of real numbers, against SciPy."""

import numpy as np
from scipy import special

from ..case import Case, of_any_shape


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def hard_sigmoid(x, alpha=0.2, beta=0.5):
    return np.clip(alpha * x + beta, 0, 1)


def smooth_l1(x, sigma):
    square = sigma * sigma
    return np.where(np.abs(x) > 1 / square, np.abs(x) - 0.5 / square, 0.5 * x * x * square)


FUNCTIONS = [
    ("exp", np.exp, "normal"),
    ("log", np.log, "positive"),
    ("log2", np.log2, "positive"),
    ("log10", np.log10, "positive"),
    ("log1p", np.log1p, "positive"),
    ("expm1", np.expm1, "normal"),
    ("sqrt", np.sqrt, "positive"),
    ("rsqrt", lambda x: x**-0.5, "positive"),
    ("cbrt", np.cbrt, "distinct"),
    ("rcbrt", lambda x: 1 / np.cbrt(x), "positive"),
    ("reciprocal", lambda x: 1 / x, "positive"),
    ("sigmoid", special.expit, "normal"),
    ("log_sigmoid", log_sigmoid, "normal"),
    ("mish", mish, "normal"),
    ("tanh", np.tanh, "normal"),
    ("softsign", lambda x: x / (1 + np.abs(x)), "distinct"),
    ("sin", np.sin, "normal"),
    ("cos", np.cos, "normal"),
    ("tan", np.tan, "unit"),
    ("arcsin", np.arcsin, "unit"),
    ("arccos", np.arccos, "unit"),
    ("arctan", np.arctan, "normal"),
    ("sinh", np.sinh, "normal"),
    ("cosh", np.cosh, "normal"),
    ("arcsinh", np.arcsinh, "normal"),
    ("arccosh", np.arccosh, "above1"),
    ("arctanh", np.arctanh, "unit"),
    ("degrees", np.degrees, "normal"),
    ("radians", np.radians, "normal"),
    ("erf", special.erf, "normal"),
    ("erfinv", special.erfinv, "unit"),
    ("gamma", special.gamma, "positive"),
    ("gammaln", special.gammaln, "positive"),
]

FACTORS = {"a": 0.5, "b": -2.0, "c": 1.5}

CASES = [
    *[c for row in FUNCTIONS for c in of_any_shape(*row)],
    *of_any_shape("digamma", special.digamma, "positive", orders=1),
    *of_any_shape("hard_sigmoid", hard_sigmoid, "distinct"),
    Case(
        "hard_sigmoid",
        lambda x: hard_sigmoid(x, 0.5, 0.25),
        ((3, 4),),
        {"alpha": 0.5, "beta": 0.25},
        "distinct",
    ),
    *of_any_shape(
        "_contrib_quadratic", lambda x: 0.5 * x * x - 2 * x + 1.5, "normal", attrs=FACTORS
    ),
    Case("_contrib_quadratic", lambda x: 0 * x, ((3, 4),)),
    *of_any_shape("smooth_l1", lambda x: smooth_l1(x, 1.0), "distinct", attrs={"scalar": 1.0}),
    Case("smooth_l1", lambda x: smooth_l1(x, 2.0), ((3, 4),), {"scalar": 2.0}, "distinct"),
]
