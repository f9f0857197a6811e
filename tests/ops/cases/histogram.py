"""Histograms, against NumPy's."""

import numpy as np

from ..case import Case, Refused


def even(count, low, high):
    return lambda x: np.histogram(x, count, (low, high))


def between(x, edges):
    order = np.arange(len(edges))
    inside = x[(x >= edges[0]) & (x <= edges[-1])]
    bins = np.minimum(np.searchsorted(edges, inside, "right"), order[-1]) - 1
    return np.bincount(bins.ravel(), minlength=order[-1]), edges


RESULTS = {"results": ("int64", None)}
CASES = [
    Case(
        "_histogram", even(4, 0, 4), ((3, 5),), {"bin_cnt": 4, "range": (0, 4)}, "small", **RESULTS
    ),
    Case("_histogram", even(3, 0, 6), ((9,),), {"bin_cnt": 3, "range": (0, 6)}, "small", **RESULTS),
    Case("_histogram", even(2, 0, 2), ((0, 3),), {"bin_cnt": 2, "range": (0, 2)}, **RESULTS),
    Case(
        "_histogram",
        lambda x, e: between(x, e),
        ((4, 3), (2,)),
        {},
        ("small", "below1"),
        **RESULTS,
    ),
]
REFUSED = [
    Refused("_histogram", ("'range'", "both"), None, {"bin_cnt": 2}),
    Refused("_histogram", ("'range'", "smaller"), None, {"bin_cnt": 2, "range": (2, 1)}),
    Refused("_histogram", ("bin_cnt", ">= 1"), None, {"bin_cnt": 0, "range": (0, 1)}),
    Refused("_histogram", ("'bins'", "2 edges"), ((3,), (1,))),
]
