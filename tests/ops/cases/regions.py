"""Regions of images, one bin and one point at a time."""

import math

import numpy as np

from ..case import Case, Refused


def near(plane, y, x, low, past):
    """A plane at a point that is no farther outside than it may; the rim goes on outside."""
    high, wide = plane.shape
    if not (low <= y <= high + past and low <= x <= wide + past):
        return None
    y, x = min(max(y, 0), high - 1), min(max(x, 0), wide - 1)
    i, j = min(int(y), max(high - 2, 0)), min(int(x), max(wide - 2, 0))
    rows = plane[i : i + 2, j : j + 2]
    return (
        np.array([i + 1 - y, y - i])[: len(rows)]
        @ rows
        @ np.array([j + 1 - x, x - j])[: rows.shape[1]]
    )


def bins(data, rois, size, number, value):
    """The mean of what `value` gives for each bin, of a region as its numbers say."""
    out = np.zeros((len(rois), number, *size))
    for r, c, i, j in np.ndindex(*out.shape):
        if rois[r][0] > -1:
            found = [v for v in value(data[int(rois[r][0])], rois[r], c, i, j) if v is not None]
            out[r, c, i, j] = sum(found) / max(len(found), 1)
    return out


def align(pooled_size, spatial_scale, sample_ratio=-1, position_sensitive=False, aligned=False):
    high, wide = pooled_size

    def value(image, roi, c, i, j):
        left, upper, right, lower = np.array(roi[1:]) * spatial_scale - 0.5 * aligned
        extents = [lower - upper, right - left]
        extents = extents if aligned else np.maximum(extents, 1)
        rows, columns = (
            sample_ratio if sample_ratio > 0 else math.ceil(e / b)
            for e, b in zip(extents, pooled_size, strict=True)
        )
        plane = image[(c * high + i) * wide + j if position_sensitive else c]
        for a, b in np.ndindex(rows, columns):
            y = upper + (i + (a + 0.5) / rows) * extents[0] / high
            x = left + (j + (b + 0.5) / columns) * extents[1] / wide
            found = near(plane, y, x, -1, 0)
            yield 0.0 if found is None else found

    def oracle(data, rois):
        number = data.shape[1] // (high * wide if position_sensitive else 1)
        return bins(data, rois, pooled_size, number, value)

    return oracle


def rotated(pooled_size, spatial_scale, sampling_ratio=-1):
    high, wide = pooled_size

    def value(image, roi, c, i, j):
        middle_x, middle_y, width, height = np.array(roi[1:5]) * spatial_scale
        width, height, angle = max(width, 1), max(height, 1), np.deg2rad(roi[5])
        rows = sampling_ratio if sampling_ratio > 0 else math.ceil(height / high)
        columns = sampling_ratio if sampling_ratio > 0 else math.ceil(width / wide)
        for a, b in np.ndindex(rows, columns):
            y = ((i + (a + 0.5) / rows) / high - 0.5) * height
            x = ((j + (b + 0.5) / columns) / wide - 0.5) * width
            turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            found = near(image[c], *(turned @ [y, x] + [middle_y, middle_x]), -1, 0)
            yield 0.0 if found is None else found

    return lambda data, rois: bins(data, rois, pooled_size, data.shape[1], value)


def rounded(x):
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def pool(spatial_scale, output_dim, pooled_size, group_size=0):
    groups = group_size or pooled_size

    def value(image, roi, c, i, j):
        left, upper = (rounded(x) * spatial_scale for x in roi[1:3])
        right, lower = ((rounded(x) + 1) * spatial_scale for x in roi[3:5])
        high, wide = (max(e, 0.1) / pooled_size for e in (lower - upper, right - left))
        plane = image[(c * groups + i * groups // pooled_size) * groups + j * groups // pooled_size]
        rows = slice(
            *(max(f(k * high + upper), 0) for f, k in ((math.floor, i), (math.ceil, i + 1)))
        )
        columns = slice(
            *(max(f(k * wide + left), 0) for f, k in ((math.floor, j), (math.ceil, j + 1)))
        )
        return plane[rows, columns].ravel()

    return lambda data, rois: bins(data, rois, (pooled_size,) * 2, output_dim, value)


def moved(
    spatial_scale,
    output_dim,
    group_size,
    pooled_size,
    part_size=0,
    sample_per_part=1,
    trans_std=0.0,
    no_trans=False,
):
    parts = part_size or pooled_size

    def oracle(data, rois, *trans):
        numbers = iter(range(len(rois)))
        rows = [(*roi, next(numbers)) for roi in rois]

        def value(image, roi, c, i, j):
            left, upper = (rounded(x) * spatial_scale - 0.5 for x in roi[1:3])
            right, lower = ((rounded(x) + 1) * spatial_scale - 0.5 for x in roi[3:5])
            extents = max(lower - upper, 0.1), max(right - left, 0.1)
            down = across = 0.0
            if trans:
                classes = trans[0].shape[1] // 2
                own = trans[0][roi[5]].reshape(classes, 2, parts, parts)
                place = (c * classes // output_dim, slice(None), i * parts // pooled_size)
                across, down = own[(*place, j * parts // pooled_size)] * trans_std
            group = [k * group_size // pooled_size for k in (i, j)]
            plane = image[(c * group_size + group[0]) * group_size + group[1]]
            for a, b in np.ndindex(sample_per_part, sample_per_part):
                y, x = (
                    (k + m / sample_per_part) * extent / pooled_size + start + move * extent
                    for k, m, extent, start, move in (
                        (i, a, extents[0], upper, down),
                        (j, b, extents[1], left, across),
                    )
                )
                yield near(plane, y, x, -0.5, -0.5)

        return bins(data, rows, (pooled_size,) * 2, output_dim, value)

    return oracle


FOUR, SEVEN = (4, 4, 6, 5), (7, 4, 6, 7)
"""Images for regions of the domain `small`, some of which are of none, and of `below7`."""
TWO, FIXED = {"pooled_size": (2, 2), "spatial_scale": 1}, ("rois",)
MEANS = {"spatial_scale": 1, "output_dim": 1, "pooled_size": 2}
MOVES = {**MEANS, "group_size": 2, "sample_per_part": 2, "trans_std": 0.25}


def aligned(data, rois, domain, **attrs):
    attrs = {**TWO, **attrs}
    domains = ("normal", domain)
    return Case(
        "_contrib_ROIAlign", align(**attrs), (data, rois), attrs, domains, steps=16, fixed=FIXED
    )


def pooled(data, rois, domain, **attrs):
    attrs = {**MEANS, **attrs}
    domains = ("normal", domain)
    return Case(
        "_contrib_PSROIPooling", pool(**attrs), (data, rois), attrs, domains, steps=16, fixed=FIXED
    )


def deformed(shapes, domain, **attrs):
    attrs, domains = {**MOVES, **attrs}, ("normal", domain, "unit")[: len(shapes)]
    name = "_contrib_DeformablePSROIPooling"
    return Case(name, moved(**attrs), shapes, attrs, domains, steps=32, fixed=FIXED, orders=1)


CASES = [
    aligned(FOUR, (5, 5), "small"),
    aligned(FOUR, (5, 5), "halves", pooled_size=(4, 2), sample_ratio=2),
    aligned(SEVEN, (6, 5), "below7", spatial_scale=0.5, position_sensitive=True),
    aligned(SEVEN, (6, 5), "below7", pooled_size=(1, 2), position_sensitive=True),
    aligned((1, 2, 1, 1), (3, 5), "below1"),
    aligned((4, 2, 0, 5), (3, 5), "small"),
    aligned(FOUR, (0, 5), "small"),
    *[
        Case(
            "_contrib_RROIAlign",
            rotated(**attrs),
            (data, rois),
            attrs,
            ("normal", domain),
            steps=64,
        )
        for data, rois, domain, attrs in [
            (FOUR, (5, 6), "small", TWO),
            (SEVEN, (6, 6), "below7", {**TWO, "pooled_size": (1, 3), "sampling_ratio": 2}),
            (FOUR, (0, 6), "small", TWO),
        ]
    ],
    pooled(FOUR, (5, 5), "small"),
    pooled(SEVEN, (6, 5), "below7", spatial_scale=0.5),
    pooled(SEVEN, (6, 5), "below7", pooled_size=3, group_size=2),
    pooled(SEVEN, (6, 5), "below7", pooled_size=1, group_size=1, output_dim=3),
    pooled(FOUR, (0, 5), "small"),
    deformed((FOUR, (5, 5), (5, 2, 2, 2)), "small"),
    deformed((SEVEN, (6, 5), (6, 4, 3, 3)), "below7", group_size=1, output_dim=4, part_size=3),
    deformed((SEVEN, (6, 5)), "below7", no_trans=True, pooled_size=4),
]
IMAGES, REGIONS = (2, 4, 6, 7), (3, 5)
REFUSED = [
    Refused("_contrib_ROIAlign", ("pooled_size", "(2,)"), None, {**TWO, "pooled_size": (2,)}),
    Refused("_contrib_ROIAlign", ("spatial_scale", "<= 1"), None, {**TWO, "spatial_scale": 2}),
    Refused("_contrib_ROIAlign", ("'rois'", "(3, 6)"), (IMAGES, (3, 6)), TWO),
    Refused(
        "_contrib_ROIAlign",
        ("'data'", "4 channels", "6"),
        (IMAGES, REGIONS),
        {**TWO, "pooled_size": (2, 3), "position_sensitive": True},
    ),
    Refused("_contrib_RROIAlign", ("'rois'", "(3, 5)"), (IMAGES, REGIONS), TWO),
    Refused(
        "_contrib_PSROIPooling",
        ("'data'", "4 channels", "9"),
        (IMAGES, REGIONS),
        {**MEANS, "pooled_size": 3},
    ),
    Refused(
        "_contrib_DeformablePSROIPooling",
        ("'trans'", "(3, 3, 2, 2)", "(3, 2, 2, 2)"),
        (IMAGES, REGIONS, (3, 3, 2, 2)),
        MOVES,
    ),
]
