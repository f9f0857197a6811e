"""Factors, inverses, determinants and eigenvectors of matrices, against LAPACK in NumPy."""

import numpy as np

from ..case import Case, Refused


def turned(x):
    return np.swapaxes(x, -1, -2)


def potrf(lower=True):
    def factor(a):
        found = np.linalg.cholesky((a + turned(a)) / 2)
        return found if lower else turned(found)

    return factor


def potri(lower=True):
    def inverse(a):
        a = np.tril(a) if lower else turned(np.triu(a))
        return np.linalg.inv(a @ turned(a))

    return inverse


def gelqf(a):
    if 0 in a.shape:
        return a, np.zeros((*a.shape[:-1], a.shape[-2]))
    q, r = np.linalg.qr(turned(a))
    return turned(q), turned(r)


def syevd(a):
    values, vectors = np.linalg.eigh((a + turned(a)) / 2)
    u = turned(vectors)
    if u.size == 0:
        return u, values
    top = np.take_along_axis(u, np.abs(u).argmax(-1)[..., None], -1)
    return u * np.sign(top), values


def det(a):
    return np.atleast_1d(np.linalg.det(a))


def slogdet(a):
    return [np.atleast_1d(x) for x in np.linalg.slogdet(a)]


def sumlogdiag(a):
    return np.atleast_1d(np.log(np.diagonal(a, 0, -2, -1)).sum(-1))


SQUARES = [(3, 3), (2, 2, 4, 4), (0, 3, 3), (2, 0, 0)]
# Beyond the sides up to which blocks are factored row by row.
LARGE = {"dtypes": ("float64",), "steps": 200}


def squares(op, oracle, domain, attrs=None, large=True, **rest):
    cases = [Case(op, oracle, (s,), attrs or {}, domain, steps=60, **rest) for s in SQUARES]
    rest = {**LARGE, **rest, "orders": 1}
    return cases + [Case(op, oracle, ((70, 70),), attrs or {}, domain, **rest)] * large


CASES = [
    # Second orders are in test_linalg: they are those of symmetric steps.
    *squares("_linalg_potrf", potrf(), "definite", orders=1),
    *squares("_linalg_potrf", potrf(False), "definite", {"lower": False}, orders=1),
    *squares("_linalg_potri", potri(), "definite"),
    *squares("_linalg_potri", potri(False), "definite", {"lower": False}),
    *squares("_linalg_inverse", np.linalg.inv, "definite"),
    *squares("_linalg_inverse", np.linalg.inv, "regular", large=False)[:1],
    *squares("_linalg_det", det, "regular", large=False),
    *squares("_linalg_slogdet", slogdet, "regular", large=False, heads=2),
    Case("_linalg_slogdet", slogdet, ((70, 70),), {}, "definite", **LARGE, orders=1, heads=2),
    *squares("_linalg_syevd", syevd, "spread", large=False, heads=2, orders=1),
    Case("_linalg_syevd", syevd, ((70, 70),), {}, "spread", **LARGE, orders=1, heads=2),
    *[
        Case("_linalg_gelqf", gelqf, (s,), {}, "regular", steps=60, heads=2)
        for s in [(3, 3), (2, 3, 5), (0, 2, 3), (2, 0, 3)]
    ],
    Case("_linalg_gelqf", gelqf, ((70, 75),), {}, "regular", **LARGE, orders=1, heads=2),
    *squares("_linalg_sumlogdiag", sumlogdiag, "positive", large=False),
]
REFUSED = [
    *[
        Refused(f"_linalg_{name}", ("'A'", "square"), ((2, 3),))
        for name in ("potrf", "potri", "inverse", "det", "slogdet", "syevd", "sumlogdiag")
    ],
    Refused("_linalg_gelqf", ("'A'", "(3, 2)", "rows"), ((3, 2),)),
    Refused("_linalg_det", ("'A'", "2 dimensions"), ((3,),)),
]
