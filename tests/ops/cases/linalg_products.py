"""Products of the matrices of batches, and systems of equations with triangles."""

import numpy as np

from ..case import Case, Refused


def turned(x, flip):
    return np.swapaxes(x, -1, -2) if flip else x


def gemm2(transpose_a=False, transpose_b=False, alpha=1.0, axis=-2):
    def product(a, b):
        a, b = (np.swapaxes(x, axis, -2) for x in (a, b))
        return np.swapaxes(alpha * turned(a, transpose_a) @ turned(b, transpose_b), axis, -2)

    return product


def gemm(beta=1.0, **rest):
    return lambda a, b, c: gemm2(**rest)(a, b) + beta * c


def triangle(a, attrs):
    a = (np.tril if attrs.get("lower", True) else np.triu)(a)
    return turned(a, attrs.get("transpose"))


def trmm(**attrs):
    alpha, right = attrs.get("alpha", 1.0), attrs.get("rightside")
    return lambda a, b: alpha * (b @ triangle(a, attrs) if right else triangle(a, attrs) @ b)


def trsm(**attrs):
    def solution(a, b):
        a, b = triangle(a, attrs), attrs.get("alpha", 1.0) * b
        if attrs.get("rightside"):
            return turned(np.linalg.solve(turned(a, True), turned(b, True)), True)
        return np.linalg.solve(a, b)

    return solution


def syrk(transpose=False, alpha=1.0):
    return lambda a: alpha * turned(a, transpose) @ turned(a, not transpose)


PAIRS = [
    ((3, 4), (4, 2), {}),
    ((2, 4, 3), (2, 5, 4), {"transpose_a": True, "transpose_b": True, "alpha": -2.0}),
    ((3, 2, 4), (4, 2, 5), {"axis": 0}),
    ((2, 4, 3, 2), (2, 4, 3, 5), {"axis": 1, "transpose_a": True}),
    ((2, 3, 2, 4), (2, 5, 2, 4), {"axis": -3, "transpose_b": True}),
    ((2, 4, 3, 3, 2), (2, 4, 3, 3, 5), {"axis": 1, "transpose_a": True}),
    ((3, 2, 2, 2, 4), (3, 2, 4, 2, 5), {"axis": -3}),
    ((2, 0), (0, 3), {}),
    ((0, 2, 3), (0, 3, 4), {}),
]
SIDES = [
    (n, side, {"transpose": t, "lower": low, "rightside": right, "alpha": 1.5 if low else 1.0})
    for n, t, low, right in [
        (3, False, True, False),
        (3, True, True, True),
        (4, True, False, False),
        (4, False, False, True),
        (0, False, True, False),
    ]
    for side in [(2, 5 if right else n, n) if right else (2, n, 5)]
]
LARGE = {"dtypes": ("float64",), "orders": 1}
CASES = [
    *[Case("_linalg_gemm2", gemm2(**a), (x, y), a, steps=4) for x, y, a in PAIRS],
    *[
        Case("_linalg_gemm", gemm(**a), shapes, a, steps=4)
        for shapes, a in [
            (((3, 4), (4, 2), (3, 2)), {}),
            (((2, 3, 4), (2, 2, 4), (2, 3, 2)), {"transpose_b": True, "beta": -0.5}),
            (((3, 2, 4), (4, 2, 5), (3, 2, 5)), {"axis": 0, "alpha": 2.0, "beta": 0.0}),
        ]
    ],
    *[
        Case("_linalg_syrk", syrk(**a), (s,), a, steps=4)
        for s, a in [
            ((3, 4), {}),
            ((2, 4, 3), {"transpose": True, "alpha": 2.0}),
            ((0, 3), {}),
            ((70, 5), {}),
        ]
    ],
    *[Case("_linalg_trmm", trmm(**a), ((2, n, n), b), a, steps=4) for n, b, a in SIDES],
    *[
        Case("_linalg_trsm", trsm(**a), ((2, n, n), b), a, ("regular", "normal"), steps=40)
        for n, b, a in SIDES
    ],
    Case(
        "_linalg_trmm", trmm(lower=False), ((50, 50), (50, 3)), {"lower": False}, **LARGE, steps=9
    ),
    Case("_linalg_trmm", trmm(), ((50, 50), (50, 3)), {}, **LARGE, steps=9),
    Case("_linalg_trsm", trsm(), ((45, 45), (45, 3)), {}, ("definite", "normal"), **LARGE, steps=9),
    Case(
        "_linalg_trsm",
        trsm(lower=False, rightside=True),
        ((45, 45), (3, 45)),
        {"lower": False, "rightside": True},
        ("definite", "normal"),
        **LARGE,
        steps=9,
    ),
]
REFUSED = [
    Refused("_linalg_gemm2", ("'B'", "(3, 4)"), ((3, 4), (3, 4))),
    Refused("_linalg_gemm2", ("'B'", "(3, 4, 2)"), ((1, 3, 4), (3, 4, 2))),
    Refused("_linalg_gemm2", ("'axis'", "2"), ((2, 3, 4), (2, 4, 5)), {"axis": 2}),
    Refused("_linalg_gemm2", ("'A'", "2 dimensions"), ((3,), (3,))),
    Refused("_linalg_gemm2", ("float16",), ((2, 2), (2, 2)), {}, ("float16", "float16")),
    Refused("_linalg_gemm", ("(3, 3)",), ((3, 4), (4, 2), (3, 3))),
    Refused("_linalg_trsm", ("'A'", "square"), ((2, 3), (3, 3))),
    Refused("_linalg_trsm", ("(3, 3)", "'A'"), ((2, 2), (2, 3)), {"rightside": True}),
    Refused("_linalg_syrk", ("'A'", "2 dimensions"), ((3,),)),
]
