"""Real numbers in eight bits and back, against the definitions."""

import numpy as np

from ..case import Case, Refused

LEVELS = {"int8": 127.5, "uint8": 255.5}
BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}


def whole(x, dtype="int8"):
    return np.clip(np.rint(x), *BOUNDS[dtype])


def most(low, high):
    return np.maximum(abs(low), abs(high))


def quantized(data, low, high, dtype, less=0.0):
    r = most(low, high)
    ends = (-r, r) if dtype == "int8" else (low, high)
    return whole(data * ((LEVELS[dtype] - less) / r), dtype), *ends


def quantize(out_type="uint8"):
    return lambda data, low, high: quantized(data, low, high, out_type, 0.5)


def quantize_v2(out_type="int8", min_calib_range=None, max_calib_range=None):
    def oracle(data):
        if min_calib_range is None:
            low, high = data.min(initial=np.inf), data.max(initial=-np.inf)
        else:
            low, high = min_calib_range, max_calib_range
        dtype = ("uint8" if low >= 0 else "int8") if out_type == "auto" else out_type
        return quantized(data, np.array([low]), np.array([high]), dtype)

    return oracle


def asym(data):
    scale = 255 / np.ptp(data)
    shift = 255 - data.max() * scale
    return np.floor(data * scale + shift + 0.5), [scale], [shift]


def requantize(out_type="int8", min_calib_range=None, max_calib_range=None):
    def oracle(data, low, high):
        step = most(low, high) / 2**31
        r = np.abs(data).max() * step
        ends = (-r if out_type == "int8" else 0 * r, r)
        if min_calib_range is not None:
            r = np.array([max(-min_calib_range, max_calib_range)])
            ends = (-r, r)
        return whole(data * step * ((127 if out_type == "int8" else 255) / r), out_type), *ends

    return oracle


def entropy(num_quantized_bins):
    def smooth(x):
        empty = (x == 0).sum()
        return np.where(x == 0, 1e-4, x - 1e-4 * empty / (x.size - empty))

    def loss(hist, reach):
        middle = hist.size // 2
        part = hist[middle - reach : middle + reach + 1]
        p = part.copy()
        p[0] += hist[: middle - reach].sum()
        p[-1] += hist[middle + reach + 1 :].sum()
        ends = [i * (part.size // num_quantized_bins) for i in range(num_quantized_bins)]
        q = np.zeros(part.size)
        for first, last in zip(ends, [*ends[1:], part.size], strict=True):
            full = p[first:last] != 0
            q[first:last][full] = part[first:last].sum() / max(full.sum(), 1)
        p, q = smooth(p), smooth(q)
        p, q = p / p.sum(), q / q.sum()
        return (p * np.log(p / q)).sum()

    def oracle(hist, edges):
        middle, half = hist.size // 2, num_quantized_bins // 2
        losses = [loss(hist, reach) for reach in range(half, middle + 1)]
        best = int(np.argmin(losses))
        return [edges[middle + half + best + 1]], [losses[best]]

    return oracle


ENDS = ((1,), (1,))
GIVEN = {"min_calib_range": -2.0, "max_calib_range": 1.5}
CASES = [
    *[
        Case(
            "_contrib_quantize",
            quantize(t),
            ((3, 5), *ENDS),
            {"out_type": t},
            results=(t, "float32", "float32"),
        )
        for t in LEVELS
    ],
    *[
        Case(
            "_contrib_quantize_v2",
            quantize_v2(**a),
            (shape,),
            a,
            dtypes=("float32",),
            results=(t, "float32", "float32"),
        )
        for shape, a, t in [
            ((3, 50), {}, "int8"),
            ((7,), {"out_type": "uint8"}, "uint8"),
            ((7,), {"out_type": "auto", **GIVEN}, "int8"),
            ((7,), {"out_type": "auto", **GIVEN, "min_calib_range": 0.5}, "uint8"),
            ((0, 3), GIVEN, "int8"),
        ]
    ],
    Case(
        "_contrib_quantize_v2",
        lambda x: (x, [-127.5], [127.5]),
        ((7,),),
        dtypes=("int8",),
        results=("int8", "float32", "float32"),
    ),
    Case("_contrib_quantize_asym", asym, ((3, 5),), results=("uint8", "float32", "float32")),
    *[
        Case(
            "_contrib_dequantize",
            lambda x, low, high, n=n: x * most(low, high) / n,
            ((3, 5), *ENDS),
            dtypes=(t,),
            mixed=(None, "float32", "float32"),
            results="float32",
        )
        for t, n in LEVELS.items()
    ],
    *[
        Case(
            "_contrib_requantize",
            requantize(**a),
            ((3, 5), *ENDS),
            a,
            mixed=(None, "float32", "float32"),
            results=(a.get("out_type", "int8"), "float32", "float32"),
        )
        for a in ({}, {"out_type": "uint8"}, {"min_calib_range": -1e-8, "max_calib_range": 4e-9})
    ],
    *[
        Case(
            "_contrib_calibrate_entropy",
            entropy(bins),
            ((n,), (n + 1,)),
            {"num_quantized_bins": bins},
            ("below9", "normal"),
            steps=64,
        )
        for n, bins in ((31, 7), (9, 9))
    ],
]
REFUSED = [
    Refused("_contrib_quantize", ("'min_range'", "(2,)", "(1,)"), ((3,), (2,), (1,))),
    Refused("_contrib_quantize", ("out_type", "'int8'"), None, {"out_type": "int32"}),
    Refused("_contrib_dequantize", ("float32", "int8"), ((3,), (1,), (1,))),
    Refused(
        "_contrib_calibrate_entropy", ("3 bins", "=5"), ((3,), (4,)), {"num_quantized_bins": 5}
    ),
]
