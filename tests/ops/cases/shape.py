"""Operators that give elements another shape, or tell it."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")
RESHAPES = [
    ((2, 3, 4), (4, 0, 2), (4, 3, 2), False),
    ((2, 3, 4), (6, 1, -1), (6, 1, 4), False),
    ((2, 3, 4), (-2,), (2, 3, 4), False),
    ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1), False),
    ((2, 3, 4), (-3, 4), (6, 4), False),
    ((2, 3, 4, 5), (-3, -3), (6, 20), False),
    ((2, 3, 4), (0, -3), (2, 12), False),
    ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4), False),
    ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4), False),
    ((10, 5, 4), (-1, 0), (40, 5), False),
    ((10, 5, 4), (-1, 0), (50, 4), True),
    ((2, 3, 4, 5), (-2, -3), (2, 3, 20), True),
    ((8, 3), (-4, -1, 2, 0), (4, 2, 3), False),
    ((1,), (), (), False),
    ((), (1, -1), (1, 1), False),
    ((0, 3), (-1, 3), (0, 3), False),
]


def reshaped(shape):
    return lambda x: x.reshape(shape)


CASES = [
    *[
        Case("Reshape", reshaped(out), (s,), {"shape": codes, "reverse": back}, dtypes=SOME)
        for s, codes, out, back in RESHAPES
    ],
    Case("Reshape", reshaped((6, 4)), ((2, 3, 4),), {"shape": (-1, 4)}),
    Case("Reshape", reshaped((6, 4)), ((2, 3, 4),), {"target_shape": (0, 4)}, dtypes=SOME),
    Case("Flatten", reshaped((2, 12)), ((2, 3, 4),)),
    Case("Flatten", reshaped((3, 1)), ((3,),), dtypes=SOME),
    Case("Flatten", reshaped((0, 6)), ((0, 2, 3),), dtypes=SOME),
    Case("expand_dims", reshaped((2, 1, 3)), ((2, 3),), {"axis": 1}),
    Case("expand_dims", reshaped((2, 3, 1)), ((2, 3),), {"axis": -1}, dtypes=SOME),
    Case("expand_dims", reshaped((1,)), ((),), {"axis": 0}, dtypes=SOME),
    Case("squeeze", reshaped((2, 3)), ((1, 2, 1, 3),)),
    *[
        Case("squeeze", reshaped(out), (s,), {"axis": a}, dtypes=SOME)
        for s, a, out in [
            ((1, 2, 1), 0, (2, 1)),
            ((1, 2, 1), -1, (1, 2)),
            ((1, 2, 1), (0, 2), (2,)),
            ((1, 2, 1), (), (1, 2, 1)),
            ((1, 1), None, (1,)),
            ((0, 1), None, (0,)),
            ((), None, (1,)),
        ]
    ],
    Case("reshape_like", lambda a, _: a.reshape(2, 3, 4), ((6, 4), (2, 3, 4))),
    *[
        Case(
            "reshape_like",
            lambda a, _, out=out: a.reshape(out),
            (left, right),
            dict(zip(("lhs_begin", "lhs_end", "rhs_begin", "rhs_end"), ranges, strict=True)),
            dtypes=SOME,
        )
        for left, right, ranges, out in [
            ((6, 5), (2, 3, 4), (0, 1, 0, 2), (2, 3, 5)),
            ((6, 5), (2, 3, 4), (0, -1, 0, -1), (2, 3, 5)),
            ((6, 8), (3, 2, 8), (0, None, 0, None), (3, 2, 8)),
            ((2, 3, 4), (6,), (None, 2, None, None), (6, 4)),
            ((2, 3, 4), (), (1, 1, 0, 0), (2, 3, 4)),
        ]
    ],
    *[
        Case("shape_array", lambda x: np.array(x.shape), (s,), results="int64")
        for s in ((2, 3), (0, 4), ())
    ],
    *[
        Case("size_array", lambda x: np.array([x.size]), (s,), results="int64")
        for s in ((2, 3), (0, 4), ())
    ],
]
