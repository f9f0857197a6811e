"""Pooling: the definition, one window at a time."""

import itertools
import math

import numpy as np

from ..case import Case, Refused

KINDS = [
    {"pool_type": "max"},
    {"pool_type": "sum"},
    {"pool_type": "avg"},
    {"pool_type": "avg", "count_include_pad": False},
]
WINDOWS = [
    ((1, 2, 7, 6), {"kernel": (2, 2), "stride": (2, 2)}),
    ((2, 1, 7, 6), {"kernel": (3, 2), "stride": (2, 3), "pad": (1, 1)}),
    ((1, 2, 7, 6), {"kernel": (3, 3), "pad": (1, 1)}),
    ((2, 3, 9), {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    ((1, 2, 4, 5, 3), {"kernel": (2, 3, 2), "stride": (2, 2, 1), "pad": (1, 0, 1)}),
]
OTHERS = [
    ((2, 3, 4, 5), {"global_pool": True}),
    ((2, 3, 4), {"global_pool": True, "kernel": (2,)}),
    ((0, 2, 4, 4), {"kernel": (2, 2)}),
    ((1, 2, 10), {"kernel": (3,), "stride": (4,), "pooling_convention": "same"}),
    ((1, 1, 40, 41), {"kernel": (3, 3), "stride": (2, 2)}),
]
NORMS = [{"pool_type": "lp", "p_value": p} for p in (1, 2, 3)]
LAST = [
    ((2, 9, 3), {"kernel": (3,), "stride": (2,), "pad": (1,), "layout": "NWC"}),
    ((2, 7, 6, 5), {"kernel": (3, 2), "stride": (2, 3), "pad": (1, 1), "layout": "NHWC"}),
    ((1, 4, 5, 3, 2), {"kernel": (2, 3, 2), "stride": (2, 2, 1), "layout": "NDHWC"}),
    ((2, 5, 4, 37), {"kernel": (2, 2), "layout": "NHWC", "pooling_convention": "full"}),
    ((2, 4, 5, 3), {"global_pool": True, "layout": "NHWC"}),
    ((2, 4, 3), {"global_pool": True, "layout": "NWC"}),
    ((2, 2, 4, 3, 2), {"global_pool": True, "layout": "NDHWC"}),
    ((0, 3, 4, 3), {"kernel": (2, 2), "layout": "NHWC"}),
]
WIDE_PAD = [
    ((2, 3, 4), {"kernel": (2,), "pad": (3,)}),
    ((1, 2, 3, 4), {"kernel": (2, 2), "stride": (2, 1), "pad": (2, 3)}),
]
"""Windows that lie in the padding altogether, which are nothing for a maximum of the oracle."""


def pooling(
    kernel=(),
    stride=(),
    pad=(),
    pool_type="max",
    pooling_convention="valid",
    global_pool=False,
    count_include_pad=True,
    p_value=None,
    layout="NCHW",
):
    def oracle(x):
        if layout.endswith("C"):
            return np.moveaxis(windows(np.moveaxis(x, -1, 1)), 1, -1)
        return windows(x)

    def windows(x):
        extents = x.shape[2:]
        rank = len(extents)
        k, s, p = (kernel, stride or (1,) * rank, pad or (0,) * rank)
        if global_pool:
            k, s, p = extents, (1,) * rank, (0,) * rank
        sizes = [
            size(n, *row, pooling_convention) for n, *row in zip(extents, k, s, p, strict=True)
        ]
        out = np.zeros((*x.shape[:2], *sizes))
        for place in itertools.product(*map(range, sizes)):
            starts = [i * t - q for i, t, q in zip(place, s, p, strict=True)]
            ends = [b + m for b, m in zip(starts, k, strict=True)]
            inside = tuple(
                slice(max(b, 0), max(min(e, n), 0))
                for b, e, n in zip(starts, ends, extents, strict=True)
            )
            window = x[(slice(None), slice(None), *inside)]
            window = window.reshape(*x.shape[:2], math.prod(window.shape[2:]))
            whole = math.prod(
                min(e, n + q) - b for b, e, n, q in zip(starts, ends, extents, p, strict=True)
            )
            count = whole if count_include_pad else window.shape[-1]
            out[(slice(None), slice(None), *place)] = {
                "max": lambda w=window: w.max(-1),
                "sum": lambda w=window: w.sum(-1),
                "avg": lambda w=window, c=count: w.sum(-1) / max(c, 1),
                "lp": lambda w=window: root((w**p_value).sum(-1)),
            }[pool_type]()
        return out

    def root(sums):
        return {1: lambda s: s, 2: np.sqrt, 3: np.cbrt}[p_value](sums)

    return oracle


def size(n, k, s, p, convention):
    if convention == "same":
        return math.ceil(n / s)
    room = (n + 2 * p - k) / s
    return (math.ceil(room) if convention == "full" else math.floor(room)) + 1


CASES = [
    Case("Pooling", pooling(**a), (shape,), a, "distinct", steps=4)
    for shape, window in WINDOWS
    for kind in KINDS
    for convention in ("valid", "full")
    for a in [{**window, **kind, "pooling_convention": convention}]
] + [
    Case("Pooling", pooling(**a), (shape,), a, "distinct", steps=4)
    for shape, window in OTHERS
    for kind in KINDS[:3]
    for a in [{**window, **kind}]
]
CASES += [
    Case("Pooling", pooling(**a), (shape,), a, domain, steps=4)
    for domain, shapes, kinds in [
        ("positive", [*WINDOWS, *OTHERS[:2], *LAST[:5]], NORMS),
        ("distinct", LAST, KINDS),
        ("distinct", WIDE_PAD, KINDS[1:]),
        ("positive", WIDE_PAD, NORMS[:1]),
    ]
    for shape, window in shapes
    for kind in kinds
    for a in [{**window, **kind}]
]


def with_zeros(kernel=(), pad=(), pool_type="max", **attrs):
    """Pooling of the data with a border of zeros, whose windows are whole."""

    def oracle(x):
        x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad or (0,) * (x.ndim - 2)]])
        if pool_type == "avg" and kernel:
            return pooling(kernel=kernel, pool_type="sum", **attrs)(x) / math.prod(kernel)
        return pooling(kernel=kernel, pool_type=pool_type, **attrs)(x)

    return oracle


CASES += [
    Case("Pooling_v1", with_zeros(**a), (shape,), a, "distinct", steps=4)
    for shape, window in [
        ((1, 2, 5, 6), {"kernel": (2, 3), "stride": (3, 2), "pad": (1, 2)}),
        ((1, 1, 3, 4, 3), {"kernel": (2, 2, 1), "pad": (0, 2, 1)}),
        ((2, 1, 3, 2), {"global_pool": True}),
    ]
    for kind in ("max", "avg", "sum")
    for rest in ({"pool_type": kind},)
    for a in [{**window, **rest, "pooling_convention": "full"}]
]
REFUSED = [Refused("Pooling_v1", ("'kernel'", "(2,)"), None, {"kernel": (2,)})]
