"""Convolutions: the definition, one kernel element at a time."""

import itertools

import numpy as np

from ..case import Case

ROWS = [
    ((2, 4, 9), 6, {"kernel": (3,)}),
    ((2, 4, 9), 6, {"kernel": (3,), "stride": (2,), "pad": (2,), "dilate": (2,), "num_group": 2}),
    ((2, 3, 7, 6), 5, {"kernel": (3, 3), "pad": (1, 1)}),
    ((2, 3, 7, 6), 5, {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "no_bias": True}),
    ((2, 3, 7, 6), 5, {"kernel": (3, 2), "dilate": (2, 3), "pad": (2, 1)}),
    ((2, 4, 7, 6), 6, {"kernel": (2, 3), "num_group": 2, "stride": (2, 2)}),
    ((2, 4, 7, 6), 8, {"kernel": (3, 3), "num_group": 4, "pad": (1, 1)}),
    ((2, 3, 7, 6), 4, {"kernel": (1, 1)}),
    ((2, 3, 7, 6), 4, {"kernel": (1, 1), "stride": (3, 2), "no_bias": True}),
    ((1, 3, 20, 20), 9, {"kernel": (5, 5), "pad": (2, 2)}),
    ((3, 17, 18, 19), 18, {"kernel": (3, 3), "pad": (1, 1)}),
    ((1, 2, 5, 4, 4), 4, {"kernel": (2, 3, 2)}),
    ((1, 2, 5, 4, 4), 4, {"kernel": (3, 3, 3), "pad": (1, 1, 1), "stride": (2, 1, 2)}),
    ((0, 3, 5, 5), 2, {"kernel": (3, 3)}),
]


def convolution(kernel, stride=(), pad=(), dilate=(), num_group=1, **_):
    rank = len(kernel)
    stride, dilate, pad = stride or (1,) * rank, dilate or (1,) * rank, pad or (0,) * rank

    def oracle(x, w, b=None):
        x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
        sizes = [
            (n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(x.shape[2:], kernel, stride, dilate, strict=True)
        ]
        n, filters, channels = len(x), len(w), w.shape[1]
        out = np.zeros((n, num_group, filters // num_group, *sizes))
        x = x.reshape(n, num_group, channels, *x.shape[2:])
        w = w.reshape(num_group, filters // num_group, channels, *kernel)
        for tap in itertools.product(*map(range, kernel)):
            places = tuple(
                slice(i * d, i * d + s * (m - 1) + 1, s)
                for i, d, s, m in zip(tap, dilate, stride, sizes, strict=True)
            )
            part = x[(slice(None),) * 3 + places]
            out += np.einsum("ngc...,gfc->ngf...", part, w[(slice(None),) * 3 + tap])
        out = out.reshape(n, filters, *sizes)
        return out if b is None else out + b.reshape(-1, *[1] * rank)

    return oracle


def case(shape, filters, attrs):
    weight = (filters, shape[1] // attrs.get("num_group", 1), *attrs["kernel"])
    shapes = (shape, weight) if attrs.get("no_bias") else (shape, weight, (filters,))
    attrs = {**attrs, "num_filter": filters}
    return Case("Convolution", convolution(**attrs), shapes, attrs, steps=20)


CASES = [case(*row) for row in ROWS]
