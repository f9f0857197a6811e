"""Values put into ranges of indices."""

import numpy as np

from ..case import Case
from .slice import RANGES

SOME = ("float32", "float64")


def places(begin, end, step=()):
    return tuple(slice(*r) for r in zip(begin, end, step or (None,) * len(begin), strict=True))


def assigned(index, number=None):
    def oracle(x, *values):
        x = x.copy()
        x[index] = values[0] if values else number
        return x

    return oracle


def case(shape, types, *ranges):
    """With values, and with a number."""
    index = places(*ranges)
    attrs = dict(zip(("begin", "end", "step"), ranges, strict=False))
    part = np.zeros(shape)[index].shape
    whole = {"scalar": 3.0, **attrs}
    return [
        Case("_slice_assign", assigned(index), (shape, part), attrs, dtypes=types),
        Case("_slice_assign_scalar", assigned(index, 3.0), (shape,), whole, dtypes=types),
    ]


CASES = [
    *[c for r in RANGES for c in case((4, 5), SOME, *r)],
    *case((3, 4), None, (0, 1), (2, None)),
    *case((5, 2, 3), SOME, (1,), (4,), (2,)),
    *case((0, 3), SOME, (0,), (0,)),
    Case("_slice_assign_scalar", assigned(places((1,), (2,)), 0), ((3,),), {"begin": 1, "end": 2}),
]
