"""Operators of a tensor and a number."""

from dataclasses import replace

import numpy as np

from ferromix.ops.family import NUMBERS

from ..case import Case, of_any_shape

FUNCTIONS = {
    "plus": (lambda x, s: x + s, "normal"),
    "minus": (lambda x, s: x - s, "normal"),
    "rminus": (lambda x, s: s - x, "normal"),
    "mul": (lambda x, s: x * s, "normal"),
    "div": (lambda x, s: x / s, "normal"),
    "rdiv": (lambda x, s: s / x, "positive"),
    "mod": (lambda x, s: x - np.floor(x / s) * s, "normal"),
    "rmod": (lambda x, s: s - np.floor(s / x) * x, "positive"),
    "power": (lambda x, s: x**s, "positive"),
    "rpower": (lambda x, s: s**x, "positive"),
    "hypot": (np.hypot, "normal"),
    "maximum": (np.maximum, "normal"),
    "minimum": (np.minimum, "normal"),
    "equal": (np.equal, "small"),
    "not_equal": (np.not_equal, "small"),
    "greater": (np.greater, "small"),
    "greater_equal": (np.greater_equal, "small"),
    "lesser": (np.less, "small"),
    "lesser_equal": (np.less_equal, "small"),
    "logical_and": (np.logical_and, "small"),
    "logical_or": (np.logical_or, "small"),
    "logical_xor": (np.logical_xor, "small"),
}

RESULTS = {"bool": "int64"}


def rows(stem, number):
    function, domain = FUNCTIONS[stem]

    def oracle(x):
        return function(x, number)

    steps = 4 if "power" in stem else 1
    op, attrs = f"_{stem}_scalar", {"scalar": float(number)}
    cases = of_any_shape(op, oracle, domain, attrs=attrs, steps=steps, results=RESULTS)
    if stem in ("rdiv", "rmod"):
        # False would be a divisor.
        cases[0] = replace(cases[0], dtypes=NUMBERS)
    return cases


def fraction(stem, number):
    """Integers take the whole part of the number."""
    function, domain = FUNCTIONS[stem]

    def oracle(x):
        return function(x, int(number))

    types = ("int32", "uint8", "int64")
    return Case(f"_{stem}_scalar", oracle, ((3, 4),), {"scalar": number}, domain, types)


REALS = ("float32", "float64", "float16", "bfloat16")

CASES = [
    *[case for stem in FUNCTIONS for case in rows(stem, 2)],
    *[
        Case(
            f"_{stem}_scalar",
            lambda x, f=FUNCTIONS[stem][0]: f(x, -1.75),
            ((3, 4),),
            {"scalar": -1.75},
            "positive",
            REALS,
        )
        for stem in ("plus", "minus", "rminus", "mul", "div", "rdiv", "mod", "maximum")
    ],
    *[fraction(stem, 2.75) for stem in ("plus", "mul", "div", "maximum")],
    Case(
        "_plus_scalar",
        lambda x: x + 0.5,
        ((3, 4),),
        {"scalar": 0.5, "is_int": False},
        "normal",
        ("bool", "float64"),
        results={"bool": "float64"},
    ),
]
