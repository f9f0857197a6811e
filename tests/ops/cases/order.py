"""Operators that put axes and elements into another order."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


def deepened(x, b):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def widened(x, b):
    n, c, h, w = x.shape
    blocks = x.reshape(n, b, b, c // (b * b), h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


CASES = [
    Case("transpose", np.transpose, ((3, 4),)),
    Case("transpose", np.transpose, ((33, 70),), dtypes=SOME),
    Case("transpose", np.transpose, ((2, 3, 4),), dtypes=SOME),
    Case("transpose", lambda x: x.transpose(1, 2, 0), ((2, 3, 4),), {"axes": (1, 2, 0)}),
    Case(
        "transpose", lambda x: x.transpose(0, 2, 1), ((2, 3, 4),), {"axes": (0, -1, 1)}, dtypes=SOME
    ),
    Case("transpose", np.transpose, ((0, 3),), dtypes=SOME),
    Case("transpose", np.transpose, ((),), dtypes=SOME),
    Case("transpose", lambda x: x.transpose(3, 0, 2, 1), ((5, 4, 9, 16),), {"axes": (3, 0, 2, 1)}),
    Case("SwapAxis", lambda x: x.swapaxes(0, 2), ((2, 3, 4),), {"dim1": 0, "dim2": 2}),
    Case(
        "SwapAxis", lambda x: x.swapaxes(-1, 1), ((2, 3, 4),), {"dim1": -1, "dim2": 1}, dtypes=SOME
    ),
    Case("SwapAxis", lambda x: x, ((2, 3),), dtypes=SOME),
    Case("SwapAxis", lambda x: x.T, ((0, 3),), {"dim1": 0, "dim2": 1}, dtypes=SOME),
    Case("reverse", lambda x: x[:, ::-1], ((3, 5),), {"axis": 1}),
    Case("reverse", lambda x: x[::-1, :, ::-1], ((2, 3, 4),), {"axis": (0, -1)}, dtypes=SOME),
    Case("reverse", lambda x: x, ((0, 3),), {"axis": 0}, dtypes=SOME),
    Case("reverse", lambda x: x, ((1,),), {"axis": 0}, dtypes=SOME),
    Case("reverse", lambda x: x[::-1], ((3000,),), {"axis": 0}, dtypes=SOME),
    *[
        Case("depth_to_space", lambda x, b=b: widened(x, b), (s,), {"block_size": b}, dtypes=t)
        for s, b, t in [((2, 8, 3, 2), 2, None), ((1, 9, 1, 2), 3, SOME), ((0, 4, 2, 2), 2, SOME)]
    ],
    *[
        Case("space_to_depth", lambda x, b=b: deepened(x, b), (s,), {"block_size": b}, dtypes=t)
        for s, b, t in [((2, 2, 4, 6), 2, None), ((1, 1, 3, 6), 3, SOME), ((2, 0, 4, 2), 2, SOME)]
    ],
]
