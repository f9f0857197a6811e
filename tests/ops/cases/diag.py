"""Diagonals."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


def diagonal(k=0, axis1=0, axis2=1):
    return lambda x: np.diag(x, k) if x.ndim == 1 else np.diagonal(x, k, axis1, axis2)


CASES = [
    Case("diag", diagonal(), ((3, 4),)),
    Case("diag", diagonal(1), ((3,),), {"k": 1}),
    *[
        Case("diag", diagonal(**a), (s,), a, dtypes=SOME)
        for s, a in [
            ((3, 4), {"k": 1}),
            ((3, 4), {"k": -2}),
            ((3, 4), {"k": 4}),
            ((4, 3), {"k": 2}),
            ((3,), {"k": -2}),
            ((3,), {}),
            ((0,), {}),
            ((0, 3), {}),
            ((2, 5), {"axis1": 1, "axis2": 0, "k": -1}),
            ((3,), {"axis1": 1, "axis2": 0, "k": 1}),
            ((2, 3, 4), {}),
            ((2, 3, 4), {"axis1": 1, "axis2": 2}),
            ((2, 3, 4), {"axis1": -1, "axis2": 0, "k": 1}),
        ]
    ],
]
