"""Conversions and rows of dense arrays; those of sparse ones are tried in ``tests/sparse``."""

import numpy as np

from ..case import Case


def retained(x, wanted):
    out = np.zeros_like(x)
    rows = wanted.astype(int).ravel()
    out[rows] = x[rows]
    return out


CASES = [
    Case("cast_storage", lambda x: x, shape, {"stype": "default"})
    for shape in [((3, 4),), ((0, 2),)]
]
CASES += [
    Case(
        "_sparse_retain",
        retained,
        shapes,
        {},
        ("normal", f"below{shapes[0][0]}"),
        ("float32", "float64", "int32"),
        fixed=("indices",),
    )
    for shapes in [((3, 4), (2,)), ((2, 2, 2), (3,)), ((4,), (0,))]
]
