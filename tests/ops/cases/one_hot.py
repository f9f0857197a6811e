"""Rows with one element that differs."""

import numpy as np

from ..case import Case, Refused


def rows(depth, on_value=1.0, off_value=0.0, dtype="float32"):
    return lambda i: np.where(np.trunc(i)[..., None] == np.arange(depth), on_value, off_value)


CASES = [
    Case("one_hot", rows(**a), (s,), a, domain, results=a.get("dtype", "float32"))
    for s, a, domain in [
        ((5,), {"depth": 3}, "small"),
        ((2, 3), {"depth": 4, "on_value": 2.5, "off_value": -1}, "normal"),
        ((2, 3), {"depth": 4, "on_value": 7.5, "off_value": -1, "dtype": "int32"}, "small"),
        ((3,), {"depth": 2, "dtype": "float16"}, "below2"),
        ((3,), {"depth": 2, "on_value": 0, "off_value": 1, "dtype": "int64"}, "below2"),
        ((), {"depth": 3}, "below3"),
        ((4,), {"depth": 0}, "small"),
        ((0, 2), {"depth": 3}, "small"),
        ((700,), {"depth": 90, "dtype": "uint8"}, "below90"),
    ]
]
REFUSED = [
    Refused("one_hot", ("depth", "required")),
    Refused("one_hot", ("depth", ">= 0", "-1"), None, {"depth": -1}),
]
