"""Diagonals and triangles of square matrices."""

import numpy as np

from ..case import Case, Refused


def indices(n, offset, lower):
    """Rows and columns of a triangle; of a diagonal, where `lower` is None."""
    if lower is None:
        rows = np.arange(n - abs(offset))
        return rows + max(-offset, 0), rows + max(offset, 0)
    below = offset < 0 or (offset == 0 and lower)
    return np.tril_indices(n, offset) if below else np.tril_indices(n, -offset)[::-1]


def extract(offset=0, lower=None):
    return lambda a: a[(..., *indices(a.shape[-1], offset, lower))]


def make(n, offset=0, lower=None):
    def matrix(a):
        out = np.zeros((*a.shape[:-1], n, n))
        out[(..., *indices(n, offset, lower))] = a
        return out

    return matrix


OFFSETS = [{}, {"offset": 1}, {"offset": -2}]
LOWER = [{"lower": True}, {"lower": False}]
CASES = [
    *[Case("_linalg_extractdiag", extract(**a), ((2, 3, 3),), a) for a in OFFSETS],
    *[
        Case("_linalg_makediag", make(2 + abs(a.get("offset", 0)), **a), ((3, 2),), a)
        for a in OFFSETS
    ],
    Case("_linalg_makediag", make(2), ((2,),)),
    Case("_linalg_makediag", make(0), ((2, 0),)),
    Case("_linalg_extractdiag", extract(), ((0, 3, 3),)),
    *[
        Case("_linalg_extracttrian", extract(**{"lower": True, **a}), ((2, 4, 4),), a)
        for a in [*OFFSETS, *LOWER, {"offset": -1, "lower": False}]
    ],
    *[
        Case("_linalg_maketrian", make(n, **{"lower": True, **a}), ((2, 6),), a)
        for n, a in [(3, LOWER[0]), (3, LOWER[1]), (4, {"offset": 1}), (5, {"offset": -2})]
    ],
]
REFUSED = [
    Refused("_linalg_extractdiag", ("'A'", "square"), ((2, 3),)),
    Refused("_linalg_extractdiag", ("offset=3",), ((3, 3),), {"offset": 3}),
    Refused("_linalg_extracttrian", ("offset=-4",), ((3, 3),), {"offset": -4}),
    Refused("_linalg_maketrian", ("5 elements", "6"), ((5,),)),
    Refused("_linalg_makediag", ("one dimension",), ((),)),
]
