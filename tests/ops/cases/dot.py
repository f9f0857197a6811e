"""Dot products of vectors, matrices and tensors."""

import numpy as np

from ..case import Case, Refused

ROWS = [
    ((3, 4), (4, 5), False, False),
    ((4, 3), (4, 5), True, False),
    ((3, 4), (5, 4), False, True),
    ((4, 3), (5, 4), True, True),
    ((3,), (3,), False, False),
    ((2, 3), (3,), False, False),
    ((3,), (3, 4), False, False),
    ((3,), (4, 3), False, True),
    ((2, 3), (2,), True, False),
    ((2, 3, 4), (4, 5), False, False),
    ((2, 3, 4), (4, 5, 6), False, False),
    ((2, 3, 4), (2, 5), True, False),
    ((2, 3, 4), (6, 5, 4), False, True),
    ((4, 3, 2), (6, 5, 4), True, True),
    ((0, 3), (3, 2), False, False),
    ((2, 0), (0, 3), False, False),
    ((2, 3), (3, 0), False, False),
    ((65, 130), (130, 67), False, False),
]


def product(first, second):
    def oracle(a, b):
        left = 0 if first else a.ndim - 1
        right = b.ndim - 1 if second else 0
        out = np.tensordot(a, b, (left, right))
        return out.reshape(1) if out.ndim == 0 else out

    return oracle


CASES = [
    Case("dot", product(ta, tb), (a, b), {"transpose_a": ta, "transpose_b": tb}, steps=10)
    for a, b, ta, tb in ROWS
]

BATCHES = [
    ((2, 3, 4), (2, 4, 5), False, False),
    ((2, 4, 3), (2, 4, 5), True, False),
    ((2, 3, 4), (2, 5, 4), False, True),
    ((2, 4, 3), (2, 5, 4), True, True),
    ((2, 3, 2, 3), (2, 3, 3, 2), False, False),
    ((0, 3, 4), (0, 4, 5), False, False),
    ((2, 3, 0), (2, 0, 5), False, False),
    ((300, 2, 3), (300, 3, 2), False, False),
]


def batch_product(first, second):
    def oracle(a, b):
        left = a.swapaxes(-1, -2) if first else a
        right = b.swapaxes(-1, -2) if second else b
        return left @ right

    return oracle


CASES += [
    Case(
        "batch_dot",
        batch_product(ta, tb),
        (a, b),
        {"transpose_a": ta, "transpose_b": tb},
        steps=10,
    )
    for a, b, ta, tb in BATCHES
]

REFUSED = [
    Refused("dot", ("rhs", "(2, 3)", "lhs"), ((2, 3), (2, 3))),
    Refused("dot", ("transpose_a",), None, {"transpose_a": "perhaps"}),
    Refused("batch_dot", ("(3, 3, 2)",), ((2, 2, 3), (3, 3, 2))),
]
