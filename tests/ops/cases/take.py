"""Slices of an axis, against NumPy's."""

import numpy as np

from ..case import Case, Refused

SOME = ("float32", "float64")
INDICES = ("uint8", "int8", "int32", "int64", "float16", "bfloat16", "bool")


def taken(axis=0, mode="clip"):
    return lambda a, i: np.take(a, np.trunc(i).astype("int64"), axis, mode=mode)


def case(shapes, attrs, domain="small", dtypes=SOME, **rest):
    domains = ("normal", domain)
    return Case(
        "take", taken(**attrs), shapes, attrs, domains, dtypes, steps=4, fixed=("indices",), **rest
    )


CASES = [
    case(((3, 4), (5,)), {}, dtypes=None),
    case(((3, 4), (5,)), {"mode": "wrap"}, "normal", dtypes=None),
    case(((2, 3, 4), (2, 3)), {"axis": 1, "mode": "wrap"}),
    case(((2, 3, 4), (2, 3)), {"axis": -1}),
    case(((4, 3, 2), (6,)), {"axis": -2, "mode": "raise"}, "below3"),
    case(((4,), ()), {}),
    case(((4, 2), ()), {"axis": 1}),
    case(((4,), (2, 1, 3)), {"mode": "raise"}, "below4"),
    case(((300, 70), (500,)), {}, "below300"),
    case(((2, 40, 600), (1, 90)), {"axis": 1}, "below40"),
    case(((200,), (70000,)), {"mode": "wrap"}, "below900"),
    case(((3, 0), (2,)), {}),
    case(((0, 3), (0,)), {}),
    case(((0, 3), (2,)), {"axis": 1}),
    case(((3, 2), (0, 2)), {"mode": "raise"}),
    *[case(((3, 4), (5,)), {}, dtypes=("float64",), mixed=(None, t)) for t in INDICES],
    *[case(((3, 4), (5,)), {}, dtypes=(t,), mixed=(None, "int64")) for t in ("int8", "bool")],
]
REFUSED = [
    Refused("take", ("'a'", "axis 0", "(0, 3)"), ((0, 3), (2,))),
    Refused("take", ("axis 2", "-2 to 1"), ((3, 4), (2,)), {"axis": 2}),
    Refused("take", ("axis", "0 dimensions"), ((), (2,))),
    Refused("take", ("mode", "'wrap'", "'near'"), None, {"mode": "near"}),
]
