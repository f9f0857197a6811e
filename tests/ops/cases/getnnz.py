"""Counts of what is not zero, against NumPy's."""

import numpy as np

from ..case import Case, Refused


def counted(axis):
    return lambda x: np.atleast_1d(np.count_nonzero(x, axis=axis))


CASES = [
    Case(
        "_contrib_getnnz",
        counted(axis),
        ((4, 5),),
        {"axis": axis},
        "small",
        results="int64",
        fixed=("data",),
    )
    for axis in (None, 0, 1)
] + [Case("_contrib_getnnz", counted(1), ((3, 0),), {"axis": 1}, results="int64", fixed=("data",))]
REFUSED = [
    Refused("_contrib_getnnz", ("axis", "2"), None, {"axis": 2}),
    Refused("_contrib_getnnz", ("'data'", "(2, 3, 4)"), ((2, 3, 4),)),
]
