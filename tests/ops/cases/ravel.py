"""Indices of several axes as one number."""

import numpy as np

from ..case import Case, Refused


def ravel(shape):
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]
    return lambda x: strides @ np.trunc(x)


def unravel(shape):
    return lambda x: np.array(np.unravel_index(np.trunc(x).astype(int), shape))


CASES = [
    *[
        Case("_ravel_multi_index", ravel(s), ((len(s), n),), {"shape": s}, "below3")
        for s, n in [((3, 4), 5), ((-1, 3, 2), 4), ((7,), 3), ((2, 3), 0)]
    ],
    *[
        Case("_unravel_index", unravel(s), ((n,),), {"shape": s}, "below12")
        for s, n in [((3, 4), 5), ((3, 2, 2), 4), ((12,), 3), ((4, 3), 0)]
    ],
]
REFUSED = [
    Refused("_ravel_multi_index", ("'data'", "(3,)"), ((3,),), {"shape": (2, 3)}),
    Refused("_ravel_multi_index", ("'data'", "(3, 1)"), ((3, 1),), {"shape": (2, 3)}),
    Refused("_unravel_index", ("'data'", "(2, 2)"), ((2, 2),), {"shape": (2, 3)}),
    Refused("_unravel_index", ("'shape'",), None, {"shape": ()}),
    Refused("_unravel_index", ("'shape'", "(2, 0)"), None, {"shape": (2, 0)}),
]
