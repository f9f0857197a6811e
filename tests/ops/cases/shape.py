"""Operators that rearrange elements."""

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


def joined(axis):
    return lambda *parts: np.concatenate(parts, axis)


def cut(axis, begin, end):
    def oracle(x):
        index = [slice(None)] * x.ndim
        index[axis] = slice(begin, end)
        return x[tuple(index)]

    return oracle


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
    Case("transpose", np.transpose, ((3, 4),)),
    Case("transpose", np.transpose, ((33, 70),), dtypes=SOME),
    Case("transpose", np.transpose, ((2, 3, 4),), dtypes=SOME),
    Case("transpose", lambda x: x.transpose(1, 2, 0), ((2, 3, 4),), {"axes": (1, 2, 0)}),
    Case(
        "transpose", lambda x: x.transpose(0, 2, 1), ((2, 3, 4),), {"axes": (0, -1, 1)}, dtypes=SOME
    ),
    Case("transpose", np.transpose, ((0, 3),), dtypes=SOME),
    Case("transpose", np.transpose, ((),), dtypes=SOME),
    Case("Concat", joined(1), ((2, 3), (2, 1), (2, 4)), {"num_args": 3}),
    Case("Concat", joined(0), ((2, 3), (1, 3)), {"num_args": 2, "dim": 0}, dtypes=SOME),
    Case("Concat", joined(-1), ((2, 3, 2), (2, 3, 5)), {"num_args": 2, "dim": -1}, dtypes=SOME),
    Case("Concat", joined(0), ((0, 3), (2, 3)), {"num_args": 2, "dim": 0}, dtypes=SOME),
    Case("Concat", joined(0), ((4,),), {"num_args": 1, "dim": 0}, dtypes=SOME),
    Case("slice_axis", cut(1, 1, 3), ((2, 5, 3),), {"axis": 1, "begin": 1, "end": 3}),
    *[
        Case(
            "slice_axis", cut(a, b, e), ((2, 5, 3),), {"axis": a, "begin": b, "end": e}, dtypes=SOME
        )
        for a, b, e in ((1, -2, None), (-1, 0, -1), (0, 0, 2), (1, 3, 3))
    ],
]
