"""Operators that repeat elements and tensors."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


def repeated(times, axis=None):
    return lambda x: np.repeat(x, times, axis)


def tiled(reps):
    return lambda x: np.tile(x, reps)


CASES = [
    Case("repeat", repeated(2), ((2, 3),), {"repeats": 2}),
    *[
        Case("repeat", repeated(n, a), (s,), {"repeats": n, "axis": a}, dtypes=SOME, steps=2)
        for s, n, a in [
            ((2, 3), 2, 1),
            ((2, 3, 4), 3, -2),
            ((2, 3), 1, 0),
            ((2, 3), 0, 1),
            ((0, 3), 2, 0),
            ((0, 3), 2, None),
            ((2, 3, 2), 4, None),
            ((), 3, None),
            ((3, 700), 5, 0),
        ]
    ],
    Case("tile", tiled((2, 3)), ((2, 3),), {"reps": (2, 3)}, steps=2),
    *[
        Case("tile", tiled(r), (s,), {"reps": r}, dtypes=SOME, steps=2)
        for s, r in [
            ((2, 3), 2),
            ((2, 3), (2, 1, 2)),
            ((2, 3), ()),
            ((2, 3, 4), (2,)),
            ((), (2, 2)),
            ((0, 3), (2, 2)),
            ((70, 3), (30, 1)),
        ]
    ],
]
