"""Anchors, targets and detections, against their definitions."""

import numpy as np

from ..case import Case, Refused
from .bounding_box import center, overlaps


def prior(sizes=(1,), ratios=(1,), clip=False, steps=(-1, -1), offsets=(0.5, 0.5)):
    def oracle(data):
        height, width = data.shape[2:]
        down, right = steps if min(steps) > 0 else (1 / height, 1 / width)
        kinds = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
        rows = []
        for y, x in np.ndindex(height, width):
            middle = np.array([(x + offsets[1]) * right, (y + offsets[0]) * down])
            for size, ratio in kinds:
                half = np.array([size * height / width * ratio**0.5, size / ratio**0.5]) / 2
                rows.append([*(middle - half), *(middle + half)])
        found = np.array(rows).reshape(1, -1, 4)
        return np.clip(found, 0, 1) if clip else found

    return oracle


def roles(shared, threshold):
    """For each anchor the label that it is matched with, or -1."""
    found, left = np.full(len(shared), -1), shared.copy()
    while left.size and left.max() > 1e-6:
        i, j = np.unravel_index(left.argmax(), left.shape)
        found[i], left[i], left[:, j] = j, 0, 0
    best = shared.max(1, initial=-1)
    if threshold > 0:
        more = (found < 0) & (best > threshold)
        found[more] = shared[more].argmax(1)
    return found


def target(overlap_threshold=0.5, negative_mining_ratio=-1, minimum_negative_samples=0, ignore=-1):
    def one(anchors, labels, scores):
        last = np.flatnonzero(labels[:, 0] == -1)
        labels = labels[: last[0] if len(last) else None]
        classes, offsets = np.full(len(anchors), float(ignore)), np.zeros((len(anchors), 4))
        if not len(labels):
            return offsets, offsets, classes
        shared = overlaps(anchors, labels[:, 1:5])
        found = roles(shared, overlap_threshold)
        matched = found >= 0
        free = np.flatnonzero(~matched)
        if negative_mining_ratio > 0:
            wanted = max(int(matched.sum() * negative_mining_ratio), minimum_negative_samples)
            far = free[shared[free].max(1) < 0.5]
            powers = np.exp(scores - scores.max(0))
            order = np.argsort((powers[0] / powers.sum(0))[far], kind="stable")
            free = far[order[: min(wanted, len(free))]]
        classes[free] = 0
        classes[matched] = labels[found[matched], 0] + 1
        (to, size), (middle, extent) = center(labels[found, 1:5]), center(anchors)
        moves = np.concatenate([(to - middle) / extent / 0.1, np.log(size / extent) / 0.2], 1)
        offsets[matched] = moves[matched]
        return offsets, np.repeat(matched[:, None], 4, 1), classes

    def oracle(anchor, label, cls_pred):
        rows = [one(anchor[0], *pair) for pair in zip(label, cls_pred, strict=True)]
        return [np.stack(x).reshape(len(label), -1) for x in zip(*rows, strict=True)]

    return oracle


def detection(threshold=0.01, nms_threshold=0.5, force_suppress=False, clip=True):
    def one(scores, offsets, anchors):
        best, labels = scores[1:].max(0), scores[1:].argmax(0)
        middle, size = center(anchors)
        moved = middle + offsets[:, :2] * 0.1 * size
        half = np.exp(offsets[:, 2:] * 0.2) * size / 2
        boxes = np.concatenate([moved - half, moved + half], 1)
        boxes = np.clip(boxes, 0, 1) if clip else boxes
        rows = np.concatenate([labels[:, None], best[:, None], boxes], 1)[best >= threshold]
        out = np.full((len(anchors), 6), -1.0)
        if 0 < nms_threshold <= 1:
            rows = rows[np.argsort(-rows[:, 1], kind="stable")]
            for i, row in enumerate(rows):
                near = overlaps(row[2:], rows[:i, 2:])[0] >= nms_threshold
                if (near & (rows[:i, 0] >= 0) & (force_suppress | (rows[:i, 0] == row[0]))).any():
                    row[0] = -1
        out[: len(rows)] = rows
        return out

    def oracle(cls_prob, loc_pred, anchor):
        offsets = loc_pred.reshape(len(loc_pred), -1, 4)
        return np.stack([one(*x, anchor[0]) for x in zip(cls_prob, offsets, strict=True)])

    return oracle


TARGETS = ((1, 7, 4), (2, 3, 5), (2, 3, 7))
CASES = [
    *[
        Case("_contrib_MultiBoxPrior", prior(**a), ((2, 3, h, w),), a, steps=8)
        for h, w, a in [
            (2, 3, {}),
            (3, 2, {"sizes": (0.5, 0.25), "ratios": (1.0, 2.0, 0.5), "clip": True}),
            (2, 2, {"steps": (0.25, 0.5), "offsets": (0.0, 0.75)}),
        ]
    ],
    *[
        Case("_contrib_MultiBoxTarget", target(**a), TARGETS, a, steps=64)
        for a in [{}, {"overlap_threshold": 0.1}, {"negative_mining_ratio": 1.0}]
    ],
    *[
        Case(
            "_contrib_MultiBoxDetection",
            detection(**a),
            ((2, 4, n), (2, 4 * n), (1, n, 4)),
            a,
            ("distinct", "unit", "normal"),
            steps=16,
        )
        for n, a in [
            (5, {"nms_threshold": 0.0}),
            (40, {"nms_threshold": 0.25, "clip": False}),
            (40, {"force_suppress": True, "threshold": 1.0}),
        ]
    ],
]
REFUSED = [
    Refused("_contrib_MultiBoxPrior", ("4", "(2, 3)"), ((2, 3),)),
    Refused("_contrib_MultiBoxPrior", ("'steps'", "2 floats"), None, {"steps": (1.0,)}),
    Refused("_contrib_MultiBoxPrior", ("'sizes'", "empty"), None, {"sizes": ()}),
    Refused("_contrib_MultiBoxTarget", ("'label'", "wider"), ((1, 7, 4), (2, 3, 4), (2, 3, 7))),
    Refused("_contrib_MultiBoxTarget", ("4 floats",), None, {"variances": (0.1,)}),
    Refused("_contrib_MultiBoxDetection", ("anchors",), ((2, 4, 5), (2, 16), (1, 5, 4))),
]
