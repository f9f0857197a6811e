"""Operators of two inputs, with and without broadcasting."""

import numpy as np

from ..case import Case


def modulo(a, b):
    return np.where(b == 0, 0, a - np.floor(a / np.where(b == 0, 1, b)) * b)


FUNCTIONS = {
    "add": (lambda a, b: a + b, "normal"),
    "sub": (lambda a, b: a - b, "normal"),
    "mul": (lambda a, b: a * b, "normal"),
    "div": (lambda a, b: a / b, "positive"),
    "mod": (modulo, ("normal", "positive")),
    "power": (lambda a, b: a**b, ("positive", "positive")),
    "hypot": (np.hypot, ("distinct", "positive")),
    "maximum": (np.maximum, ("distinct", "normal")),
    "minimum": (np.minimum, ("distinct", "normal")),
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
EQUAL = {"add": "elemwise_add", "sub": "elemwise_sub", "mul": "elemwise_mul"}
EQUAL["div"] = "elemwise_div"
PAIRS = [
    ((3, 4), (3, 4)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (3, 1)),
    ((4,), (2, 3, 4)),
    ((), (2, 3)),
    ((2, 1, 3, 1), (4, 1, 2)),
    ((0, 3), (1, 3)),
    ((2, 0), (1,)),
    ((), ()),
]
SOME = ("float32", "float64")


def rows(stem):
    oracle, domain = FUNCTIONS[stem]
    first, *rest = PAIRS
    steps = 4 if stem == "power" else 1
    equal = EQUAL.get(stem, f"_{stem}")
    return [
        Case(f"broadcast_{stem}", oracle, first, {}, domain, steps=steps),
        *[
            Case(f"broadcast_{stem}", oracle, p, {}, domain, SOME, steps=steps, edge=True)
            for p in rest
        ],
        Case(equal, oracle, first, {}, domain, steps=steps),
        *[
            Case(equal, oracle, (s, s), {}, domain, SOME, steps=steps, edge=True)
            for s in ((), (0, 3), (5,))
        ],
    ]


CASES = [case for stem in FUNCTIONS for case in rows(stem)]
