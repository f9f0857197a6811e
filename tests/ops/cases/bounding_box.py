"""Overlaps, offsets and matches of boxes, against their definitions."""

import numpy as np

from ..case import Case, Refused


def corners(x, form):
    if form == "corner":
        return x
    half = x[..., 2:] / 2
    return np.concatenate([x[..., :2] - half, x[..., :2] + half], -1)


def overlaps(a, b, pixel=0):
    """Intersection over union of all pairs of boxes given by corners."""
    a, b = a.reshape(-1, 1, 4), b.reshape(1, -1, 4)
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]) + pixel
    shared = np.maximum(sides, 0).prod(-1)
    union = sum((x[..., 2:] - x[..., :2] + pixel).prod(-1) for x in (a, b)) - shared
    return np.divide(shared, union, out=np.zeros_like(union), where=union > 0)


def iou(format="corner"):
    def oracle(lhs, rhs):
        found = overlaps(corners(lhs, format), corners(rhs, format))
        return found.reshape(lhs.shape[:-1] + rhs.shape[:-1])

    return oracle


def center(x):
    size = x[..., 2:] - x[..., :2]
    return x[..., :2] + size / 2, size


def encode(samples, matches, anchors, refs, means, stds):
    to = np.stack([r[m.astype(int)] for r, m in zip(refs, matches, strict=True)])
    (middle, size), (from_middle, from_size) = center(to), center(anchors)
    offsets = np.concatenate([(middle - from_middle) / from_size, np.log(size / from_size)], -1)
    mask = np.repeat(samples[..., None] > 0.5, 4, -1)
    return np.where(mask, (offsets - means) / stds, 0), mask


def decode(format="center", clip=-1, **stds):
    def oracle(data, anchors):
        middle, size = (
            (anchors[..., :2], anchors[..., 2:]) if format == "center" else center(anchors)
        )
        data = data * [stds.get(f"std{k}", 1) for k in range(4)]
        powers = np.minimum(data[..., 2:], clip if clip > 0 else np.inf)
        middle, half = data[..., :2] * size + middle, np.exp(powers) * size / 2
        return np.concatenate([middle - half, middle + half], -1)

    return oracle


def matching(threshold, is_ascend=False, topk=-1):
    def oracle(data):
        n, m = data.shape[-2:]
        tables = data.reshape(int(np.prod(data.shape[:-2])), n, m)
        rows, columns = np.full((len(tables), n), -1), np.full((len(tables), m), -1)
        for k, scores in enumerate(tables):
            made = 0
            keys = scores if is_ascend else -scores
            for place in np.argsort(keys, axis=None, kind="stable"):
                i, j = divmod(place, m)
                if rows[k, i] < 0 and columns[k, j] < 0:
                    x = scores[i, j]
                    if not (x < threshold if is_ascend else x > threshold) or made == topk + 1 > 1:
                        break
                    rows[k, i], columns[k, j], made = j, i, made + 1
        return rows.reshape(data.shape[:-1]), columns.reshape(*data.shape[:-2], m)

    return oracle


CASES = [
    *[
        Case("_contrib_box_iou", iou(**a), (lhs, rhs), a, steps=8, dtypes=t)
        for lhs, rhs, a, t in [
            ((3, 4), (2, 5, 4), {}, None),
            ((2, 3, 4), (40, 4), {"format": "center"}, ("float32", "float64")),
            ((0, 4), (2, 4), {}, ("float32",)),
        ]
    ],
    Case(
        "_contrib_box_encode",
        encode,
        ((2, 3), (2, 3), (2, 3, 4), (2, 5, 4), (4,), (4,)),
        domain=("below2", "below5", "distinct", "distinct", "normal", "positive"),
        steps=16,
        dtypes=("float32", "float64"),
    ),
    *[
        Case("_contrib_box_decode", decode(**a), ((2, 3, 4), (1, 3, 4)), a, "unit", t, steps=8)
        for a, t in [
            ({}, None),
            ({"format": "corner", "std0": 0.5, "std3": 0.25}, ("float32",)),
            ({"clip": 0.25}, ("float32",)),
        ]
    ],
    *[
        Case("_contrib_bipartite_matching", matching(**a), (shape,), a, domain, t)
        for shape, domain, a, t in [
            ((3, 4), "distinct", {"threshold": -9.0}, None),
            ((2, 5, 3), "small", {"threshold": -1.0}, ("float32",)),
            ((2, 3, 3), "small", {"threshold": 1.0, "is_ascend": True}, ("float32",)),
            ((6, 6), "distinct", {"threshold": -9.0, "topk": 2}, ("float32",)),
            ((2, 0, 3), "normal", {"threshold": 0.0}, ("float32",)),
        ]
    ],
]
REFUSED = [
    Refused("_contrib_box_iou", ("'rhs'", "(2, 3)", "4"), ((2, 4), (2, 3))),
    Refused("_contrib_box_iou", ("'lhs'", "two dimensions"), ((4,), (2, 4))),
    Refused("_contrib_box_iou", ("format", "'center'"), None, {"format": "edges"}),
    Refused("_contrib_box_decode", ("'anchors'", "(2, 3, 4)"), ((2, 3, 4), (2, 3, 4))),
    Refused("_contrib_bipartite_matching", ("two dimensions",), ((4,),), {"threshold": 0.0}),
    Refused("_contrib_bipartite_matching", ("threshold", "required")),
]
