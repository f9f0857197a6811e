"""Maxima of regions: one bin at a time."""

import numpy as np

from ..case import Case, Refused

SCALE = 0.5


def around(x):
    """Rounded, halves away from 0."""
    return int(np.floor(abs(x) + 0.5) * np.sign(x))


def bins(low, high, count, extent):
    start, end = around(low * SCALE), around(high * SCALE)
    length = np.float32(max(end - start + 1, 1)) / np.float32(count)
    for i in range(count):
        ends = (int(np.floor(i * length)) + start, int(np.ceil((i + 1) * length)) + start)
        yield [min(max(e, 0), extent) for e in ends]


def regions(pooled):
    def oracle(x, rois):
        out = np.zeros((len(rois), x.shape[1], *pooled))
        for r, (image, *corners) in enumerate(rois):
            if int(image) < 0:
                continue
            rows = bins(corners[1], corners[3], pooled[0], x.shape[2])
            for i, (top, bottom) in enumerate(rows):
                columns = bins(corners[0], corners[2], pooled[1], x.shape[3])
                for j, (left, right) in enumerate(columns):
                    part = x[int(image), :, top:bottom, left:right]
                    if part.size:
                        out[r, :, i, j] = part.max((1, 2))
        return out

    return oracle


CASES = [
    Case(
        "ROIPooling",
        regions(pooled),
        (shape, (count, 5)),
        {"pooled_size": pooled, "spatial_scale": SCALE},
        ("distinct", domain),
        fixed=("rois",),
        orders=1,
    )
    for shape, count, pooled, domain in [
        ((3, 2, 6, 5), 4, (2, 3), "below3"),
        ((9, 1, 4, 4), 5, (3, 2), "below9"),
        ((4, 2, 3, 3), 3, (1, 1), "below3"),
        ((2, 2, 3, 3), 0, (2, 2), "below2"),
    ]
]
REFUSED = [
    Refused("ROIPooling", ("pooled_size",), None, {"pooled_size": (3,), "spatial_scale": 1.0}),
    Refused("ROIPooling", ("spatial_scale",), None, {"pooled_size": (3, 3), "spatial_scale": 2.0}),
    Refused(
        "ROIPooling",
        ("'rois'", "(1, 4)"),
        ((1, 1, 3, 3), (1, 4)),
        {"pooled_size": (3, 3), "spatial_scale": 1.0},
    ),
]
