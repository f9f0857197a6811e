"""Windows as columns: one element of the window at a time."""

import itertools
from math import prod

import numpy as np

from ..case import Case, Refused

ROWS = [
    ((2, 3, 7), {"kernel": (3,), "stride": (2,), "pad": (2,)}),
    ((2, 2, 5, 4), {"kernel": (2, 3), "dilate": (2, 1), "pad": (1, 0), "stride": (1, 2)}),
    ((1, 2, 3, 4, 3), {"kernel": (2, 2, 3), "pad": (0, 1, 1)}),
    ((0, 2, 4), {"kernel": (2,)}),
]


def places(shape, kernel, stride=(), dilate=(), pad=()):
    """For each element of a window, where it stands in the padded image in all windows."""
    ones, none = (1,) * len(kernel), (0,) * len(kernel)
    rows = list(zip(shape, kernel, stride or ones, dilate or ones, pad or none, strict=True))
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in rows]
    for tap in itertools.product(*map(range, kernel)):
        pairs = zip(tap, rows, counts, strict=True)
        yield tuple(slice(i * d, i * d + s * (m - 1) + 1, s) for i, (_, _, s, d, _), m in pairs)


def padding(shape, pad=(), **_):
    return [(0, 0), (0, 0), *[(p, p) for p in pad or (0,) * (len(shape) - 2)]]


def im2col(attrs):
    def oracle(x):
        padded = np.pad(x, padding(x.shape, **attrs))
        parts = [padded[(..., *p)] for p in places(x.shape[2:], **attrs)]
        out = np.stack(parts, 2)
        return out.reshape(len(x), x.shape[1] * len(parts), prod(out.shape[3:]))

    return oracle


def col2im(shape, attrs):
    def oracle(x):
        widths = padding(shape, **attrs)
        out = np.zeros([n + a + b for n, (a, b) in zip(shape, widths, strict=True)])
        taps = list(places(shape[2:], **attrs))
        for i, place in enumerate(taps):
            out[(..., *place)] += x[:, i :: len(taps)].reshape(out[(..., *place)].shape)
        inside = [slice(a, a + n) for n, (a, _) in zip(shape, widths, strict=True)]
        return out[tuple(inside)]

    return oracle


def columns(shape, attrs):
    return im2col(attrs)(np.zeros(shape)).shape


CASES = [
    *[Case("im2col", im2col(attrs), (shape,), attrs) for shape, attrs in ROWS],
    *[
        Case(
            "col2im",
            col2im(shape, attrs),
            (columns(shape, attrs),),
            {**attrs, "output_size": shape[2:]},
            steps=8,
        )
        for shape, attrs in ROWS
    ],
]
REFUSED = [
    Refused("im2col", ("kernel=(4,)",), ((1, 1, 3),), {"kernel": (4,)}),
    Refused("col2im", ("multiple",), ((1, 3, 2),), {"kernel": (2,), "output_size": (3,)}),
    Refused("col2im", ("'data'", "(1, 2, 3)"), ((1, 2, 3),), {"kernel": (2,), "output_size": (3,)}),
]
