"""Convolutions: the definition, one kernel element at a time."""

import itertools

import numpy as np

from ..case import Case, Refused

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

DECONVOLUTIONS = [
    ((2, 4, 5), 6, {"kernel": (3,), "num_group": 2, "no_bias": False}),
    ((2, 3, 4, 5), 5, {"kernel": (3, 2), "stride": (2, 3), "pad": (1, 0), "adj": (1, 2)}),
    ((1, 2, 4, 3), 2, {"kernel": (3, 3), "dilate": (2, 1), "no_bias": False}),
    ((1, 2, 3, 3), 3, {"kernel": (2, 4), "stride": (3, 2), "target_shape": (6, 7)}),
    ((2, 3, 4, 4), 4, {"kernel": (1, 1)}),
    ((1, 2, 2, 3, 2), 4, {"kernel": (2, 3, 2), "stride": (2, 1, 2), "num_group": 2}),
    ((0, 3, 4, 4), 2, {"kernel": (3, 3)}),
    ((1, 2, 3, 1), 2, {"kernel": (2, 2), "pad": (0, 1), "no_bias": False}),
]


def deconvolution(kernel, num_filter, num_group=1, **attrs):
    rank = len(kernel)
    stride, dilate = (attrs.get(n) or (1,) * rank for n in ("stride", "dilate"))
    pad, adj = (attrs.get(n) or (0,) * rank for n in ("pad", "adj"))
    target = attrs.get("target_shape")

    def oracle(x, w, b=None):
        n, channels, *extents = x.shape
        rows = list(zip(extents, kernel, stride, dilate, strict=True))
        whole = [(m - 1) * s + d * (k - 1) + 1 for m, k, s, d in rows]
        cut = [-(-(a - t) // 2) for a, t in zip(whole, target, strict=True)] if target else pad
        out = np.zeros((n, num_group, num_filter // num_group, *(a + 9 for a in whole)))
        x = x.reshape(n, num_group, channels // num_group, *extents)
        w = w.reshape(num_group, channels // num_group, *w.shape[1:])
        for tap in itertools.product(*map(range, kernel)):
            places = tuple(
                slice(i * d, i * d + s * (m - 1) + 1, s)
                for i, (m, _, s, d) in zip(tap, rows, strict=True)
            )
            part = np.einsum("ngc...,gcf->ngf...", x, w[(slice(None),) * 3 + tap])
            out[(slice(None),) * 3 + places] += part
        ends = target or [a - 2 * p + e for a, p, e in zip(whole, pad, adj, strict=True)]
        inside = tuple(slice(c, c + m) for c, m in zip(cut, ends, strict=True))
        out = out[(slice(None),) * 3 + inside].reshape(n, num_filter, *ends)
        return out if b is None else out + b.reshape(-1, *[1] * rank)

    return oracle


def reverse(shape, filters, attrs):
    weight = (shape[1], filters // attrs.get("num_group", 1), *attrs["kernel"])
    shapes = (shape, weight) if attrs.get("no_bias", True) else (shape, weight, (filters,))
    attrs = {**attrs, "num_filter": filters}
    return Case("Deconvolution", deconvolution(**attrs), shapes, attrs, steps=20)


CASES += [reverse(*row) for row in DECONVOLUTIONS]
ONE = {"kernel": (3,), "num_filter": 2}
REFUSED = [
    Refused("Deconvolution", ("adj=(1,)", "stride"), None, {**ONE, "adj": (1,)}),
    Refused(
        "Deconvolution",
        ("target_shape", "more"),
        ((1, 2, 3), (2, 2, 3)),
        {**ONE, "target_shape": (6,)},
    ),
    Refused("Deconvolution", ("half way",), ((1, 2, 3), (2, 2, 3)), {**ONE, "target_shape": (4,)}),
    Refused(
        "Deconvolution", ("'data'", "nothing is left"), ((1, 2, 3), (2, 2, 3)), {**ONE, "pad": (3,)}
    ),
    Refused("Deconvolution", ("'weight'", "(2, 3, 3)"), ((1, 2, 3), (2, 3, 3)), ONE),
]
