"""Reductions."""

import numpy as np

from ..case import Case

AXES = [
    ((3, 4), {}),
    ((2, 3, 4), {"axis": 1}),
    ((2, 3, 4), {"axis": -1, "keepdims": True}),
    ((2, 3, 4), {"axis": (0, 2)}),
    ((2, 3, 4), {"axis": (2, 0), "keepdims": True}),
    ((2, 3, 4), {"axis": 1, "exclude": True}),
    ((2, 3, 4), {"keepdims": True}),
    ((2, 3, 4), {"axis": ()}),
    ((40, 70), {"axis": 0}),
    ((), {}),
]
EMPTY = [((0, 3), {"axis": 0}), ((2, 0, 3), {"axis": (0, 2)}), ((0,), {})]
SOME = ("float32", "float64")
PLACES = dict.fromkeys(("float16", "bfloat16", "uint8", "int8"), "float32")
"""Types that cannot hold every index."""


def reduced(function, axis=None, keepdims=False, exclude=False, **_):
    """The oracle of a reduction by one of NumPy's functions, with MXNet's rules of shapes."""

    def oracle(x):
        axes = (axis,) if isinstance(axis, int) else tuple(axis or range(x.ndim))
        axes = tuple(a % x.ndim for a in axes)
        if exclude:
            axes = tuple(a for a in range(x.ndim) if a not in axes)
        out = np.asarray(function(x, axis=axes, keepdims=keepdims))
        whole = len(axes) == x.ndim and not keepdims
        return out.reshape(1) if whole else out

    return oracle


def euclidean(x, axis, keepdims):
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


def manhattan(x, axis, keepdims):
    return np.abs(x).sum(axis=axis, keepdims=keepdims)


def rows(op, function, domain, steps):
    return [
        Case(
            op,
            reduced(function, **a),
            (s,),
            a,
            domain,
            None if s == (2, 3, 4) else SOME,
            steps=steps if s != (40, 70) else 5 * steps,
        )
        for s, a in AXES
    ]


def norms(order, function, domain):
    return [
        Case("norm", reduced(function, **a), (s,), {**a, "ord": order}, domain, steps=4)
        for s, a in AXES
        if "exclude" not in a
    ]


def places(function, axis=None, keepdims=False):
    """The oracle of argmax and argmin."""

    def oracle(x):
        out = np.asarray(function(x, axis=axis, keepdims=keepdims))
        return out.reshape(1) if out.ndim == 0 else out

    return oracle


def arg_rows(op, function):
    options = [
        ((2, 3, 4), {"axis": 1}),
        ((2, 3, 4), {"axis": -1, "keepdims": True}),
        ((2, 3, 4), {}),
        ((2, 3, 4), {"keepdims": True}),
        ((300, 20), {"axis": 0}),
        ((5,), {"axis": 0}),
    ]
    return [
        Case(op, places(function, **a), (s,), a, domain, results=PLACES)
        for s, a in options
        for domain in ("small", "normal")
    ]


CASES = [
    *rows("nansum", np.nansum, "normal", 4),
    *[c for c in rows("nanprod", np.nanprod, "unit", 8) if c.shapes != ((40, 70),)],
    Case("argmax_channel", lambda x: x.argmax(1), ((3, 4),), results=PLACES),
    Case("argmax_channel", lambda x: x.argmax(1), ((3, 4, 2),), dtypes=SOME),
    *rows("sum", np.sum, "normal", 4),
    *rows("mean", np.mean, "normal", 4),
    *[c for c in rows("prod", np.prod, "unit", 8) if c.shapes != ((40, 70),)],
    Case("prod", reduced(np.prod), ((3, 2),), {}, "positive", steps=8),
    *rows("max", np.max, "distinct", 1),
    *rows("min", np.min, "distinct", 1),
    *[Case("sum", reduced(np.sum, **a), (s,), a, dtypes=SOME) for s, a in EMPTY],
    *[Case("prod", reduced(np.prod, **a), (s,), a, dtypes=SOME) for s, a in EMPTY],
    Case("max", lambda x: x.max(0), ((3, 0),), {"axis": 0}, dtypes=SOME),
    *norms(2, euclidean, "positive"),
    *norms(1, manhattan, "distinct"),
    *arg_rows("argmax", np.argmax),
    *arg_rows("argmin", np.argmin),
]
