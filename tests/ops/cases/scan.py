"""Running sums."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")
LINES = [
    ((3, 4), {}),
    ((3, 4), {"axis": 0}),
    ((3, 4), {"axis": 1}),
    ((2, 3, 4), {"axis": -2}),
    ((2, 1300), {"axis": 1}),
    ((3, 700), {"axis": 0}),
    ((9, 3, 700), {"axis": 1}),
    ((1100,), {}),
    ((), {}),
    ((0, 3), {"axis": 0}),
    ((2, 0), {"axis": 0}),
    ((0,), {}),
]


def cumsum(axis=None, dtype=None):
    def oracle(x):
        x = np.trunc(x) if dtype == "int32" else x
        return np.cumsum(x, axis)

    return oracle


WHOLE = {"bool": "int64"}
CASES = [
    Case("cumsum", cumsum(), ((3, 4),), {}, "small", results=WHOLE),
    Case("cumsum", cumsum(axis=1), ((2, 3, 4),), {"axis": 1}, "small", results=WHOLE),
    *[
        Case(
            "cumsum", cumsum(**a), (s,), a, "normal", SOME, steps=40 if max(s, default=0) > 9 else 8
        )
        for s, a in LINES
    ],
    *[
        Case("cumsum", cumsum(**a), ((4, 3),), a, "halves", (source,))
        for source, target in (
            ("float32", "int32"),
            ("float32", "float64"),
            ("int32", "float32"),
            ("bool", "float16"),
        )
        for a in [{"axis": 0, "dtype": target}]
    ],
]
