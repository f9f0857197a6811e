"""Images of another size: one sample at a time, by the definitions."""

import numpy as np

from ..case import Case, Refused
from .convolution import deconvolution


def repeated(x, n, m):
    return np.repeat(np.repeat(x, n, 2), m, 3)


def nearest(scale, mode="concat"):
    def oracle(*inputs):
        high, wide = (n * scale for n in inputs[0].shape[2:])
        parts = [repeated(x, high // x.shape[2], wide // x.shape[3]) for x in inputs]
        return sum(parts) if mode == "sum" else np.concatenate(parts, 1)

    return oracle


def along(x, axis, line):
    """What `line` gives for each place of an axis: the place before, and the part of the next."""
    rows = []
    for place, part in line:
        last = x.shape[axis] - 1
        low, high = (x.take(min(p, last), axis) for p in (place, place + 1))
        rows.append(low * (1 - part) + high * part)
    return np.stack(rows, axis) if rows else x.take([], axis)


def straight(n, m, corners):
    places = np.arange(m) * (n - 1) / max(m - 1, 1)
    if not corners and m > 1:
        places = np.maximum((np.arange(m) + 0.5) * n / m - 0.5, 0)
    return [(int(p), p - int(p)) for p in places]


def bilinear(size, corners=True):
    def oracle(x, *_):
        high, wide = size(*x.shape[2:])
        x = along(x, 2, straight(x.shape[2], high, corners))
        return along(x, 3, straight(x.shape[3], wide, corners))

    return oracle


def adaptive(high, wide):
    def means(x, axis, m):
        n = x.shape[axis]
        parts = [x.take(range(i * n // m, -(-(i + 1) * n // m)), axis).mean(axis) for i in range(m)]
        return np.stack(parts, axis) if parts else x.take([], axis)

    return lambda x: means(means(x, 2, high), 3, wide)


def weights(scale):
    kernel = 2 * scale - scale % 2
    sizes = {"kernel": (kernel,) * 2, "stride": (scale,) * 2, "pad": (scale // 2,) * 2}
    shapes = ((2, 3, 2, 3), (3, 1, kernel, kernel))
    attrs = {"scale": scale, "sample_type": "bilinear", "num_filter": 3, "num_args": 2}
    oracle = deconvolution(num_filter=3, num_group=3, **sizes)
    return Case("UpSampling", oracle, shapes, attrs, dtypes=("float32", "float64"), steps=8)


def upsampling(shapes, scale, mode="concat"):
    attrs = {"scale": scale, "sample_type": "nearest", "num_args": len(shapes)}
    attrs = {**attrs, "multi_input_mode": mode}
    return Case("UpSampling", nearest(scale, mode), shapes, attrs, steps=len(shapes))


def resize(shape, size, **attrs):
    oracle = bilinear(size, attrs.get("align_corners", True))
    return Case("_contrib_BilinearResize2D", oracle, (shape,), attrs, steps=8)


def fixed(high, wide):
    return lambda *_: (high, wide)


LIKE = Case(
    "_contrib_BilinearResize2D",
    bilinear(fixed(4, 9)),
    ((2, 1, 5, 3), (1, 2, 4, 9)),
    {"mode": "like"},
    fixed=("like",),
    steps=8,
)
CASES = [
    upsampling(((2, 3, 2, 3),), 3),
    upsampling(((1, 2, 2, 3), (1, 1, 4, 6)), 4),
    upsampling(((1, 2, 2, 3), (1, 2, 4, 2)), 2, "sum"),
    upsampling(((0, 2, 2, 3),), 2),
    weights(2),
    weights(3),
    resize((2, 2, 4, 3), fixed(7, 2), height=7, width=2),
    resize((2, 2, 4, 3), fixed(3, 8), height=3, width=8, align_corners=False),
    resize((1, 2, 3, 3), fixed(1, 3), height=1, width=3, align_corners=False),
    resize((1, 1, 2, 3), lambda h, w: (3 * h, 2 * w), scale_height=3.0, scale_width=2.0),
    resize((1, 1, 3, 4), lambda *_: (5, 8), mode="odd_scale", scale_height=2.0, scale_width=2.0),
    resize((1, 1, 3, 4), lambda *_: (2, 4), mode="to_even_down"),
    resize((1, 1, 3, 4), lambda *_: (3, 5), mode="to_odd_up"),
    resize((0, 1, 3, 4), lambda *_: (4, 4), mode="to_even_up"),
    LIKE,
    *[
        Case(
            "_contrib_AdaptiveAvgPooling2D",
            adaptive(*size),
            (shape,),
            {"output_size": given},
            steps=8,
        )
        for shape, given, size in [
            ((2, 3, 5, 7), (3, 2), (3, 2)),
            ((1, 2, 2, 3), 4, (4, 4)),
            ((1, 2, 4, 4), (), (1, 1)),
            ((1, 2, 4, 4), (0, 2), (0, 2)),
            ((0, 2, 3, 3), 2, (2, 2)),
        ]
    ],
]
REFUSED = [
    Refused("UpSampling", ("num_filter",), None, {"scale": 2, "sample_type": "bilinear"}),
    Refused(
        "UpSampling",
        ("do not divide",),
        ((1, 2, 2, 3), (1, 2, 3, 6)),
        {"scale": 4, "sample_type": "nearest", "num_args": 2},
    ),
    Refused("_contrib_BilinearResize2D", ("scale_width",), None, {"scale_height": 2.0}),
    Refused("_contrib_BilinearResize2D", ("'data'", "nothing"), ((1, 1, 0, 2),), {"height": 2}),
    Refused("_contrib_AdaptiveAvgPooling2D", ("output_size",), None, {"output_size": -1}),
]
