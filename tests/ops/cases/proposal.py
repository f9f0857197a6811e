"""Regions, against their definition."""

import numpy as np

from ..case import Case, Refused
from .bounding_box import overlaps


def proposals(scales, ratios, stride=1, before=12, after=5, threshold=0.7, least=1, corners=False):
    kinds = []
    for ratio in ratios:
        width = np.round(np.sqrt(np.floor(stride * stride / ratio)))
        for scale in scales:
            size = np.array([width * scale, np.floor(width * ratio + 0.5) * scale])
            low = (stride - 1 - (size - 1)) / 2
            kinds.append([*low, *(low + size - 1)])

    def image(prob, pred, info):
        k, (height, width) = len(kinds), prob.shape[1:]
        rows, marks = [], []
        for y, x in np.ndindex(height, width):
            for kind, anchor in enumerate(kinds):
                box = np.array(anchor) + np.tile([x * stride, y * stride], 2)
                move = pred[4 * kind : 4 * kind + 4, y, x]
                if corners:
                    box = box + move
                else:
                    size = box[2:] - box[:2] + 1
                    middle = box[:2] + (size - 1) / 2 + move[:2] * size
                    half = (np.exp(move[2:]) * size - 1) / 2
                    box = np.concatenate([middle - half, middle + half])
                box = np.maximum(np.minimum(box, np.tile([info[1] - 1, info[0] - 1], 2)), 0)
                score = prob[k + kind, y, x]
                if y >= int(info[0] / stride) or x >= int(info[1] / stride):
                    score = -1
                if (box[2:] - box[:2] + 1).min() < least * info[2]:
                    box, score = box + np.array([-1, -1, 1, 1]) * least * info[2] / 2, -1
                rows.append(box)
                marks.append(score)
        order = np.argsort(-np.array(marks), kind="stable")[:before]
        found = []
        for i in order:
            others = np.array([rows[j] for j in found]).reshape(-1, 4)
            if not (overlaps(rows[i], others, 1) > threshold).any():
                found.append(i)
        found = [found[i % min(len(found), after)] for i in range(after)]
        return np.array(rows)[found], np.array(marks)[found]

    def oracle(prob, pred, info):
        pairs = [image(*x) for x in zip(prob, pred, info, strict=True)]
        boxes = [np.insert(boxes, 0, i, 1) for i, (boxes, _) in enumerate(pairs)]
        return np.concatenate(boxes), np.concatenate([marks for _, marks in pairs])[:, None]

    return oracle


def case(op, images, corners=False, threshold=0.7):
    attrs = {
        "scales": (1.0, 2.0),
        "ratios": (0.5, 2.0),
        "feature_stride": 1,
        "rpn_pre_nms_top_n": 12,
        "rpn_post_nms_top_n": 5,
        "rpn_min_size": 1,
        "output_score": True,
        "threshold": threshold,
        "iou_loss": corners,
    }
    oracle = proposals((1.0, 2.0), (0.5, 2.0), corners=corners, threshold=threshold)
    shapes = ((images, 8, 3, 4), (images, 16, 3, 4), (images, 3))
    return Case(op, oracle, shapes, attrs, ("distinct", "unit", "positive"), steps=64)


CASES = [
    case("_contrib_Proposal", 1),
    case("_contrib_Proposal", 1, True),
    case("_contrib_MultiProposal", 2, threshold=0.3),
]
REFUSED = [
    Refused("_contrib_Proposal", ("2 images",), ((2, 24, 3, 3), (2, 48, 3, 3), (2, 3))),
    Refused("_contrib_MultiProposal", ("'bbox_pred'",), ((2, 24, 3, 3), (2, 24, 3, 3), (2, 3))),
    Refused("_contrib_MultiProposal", ("'cls_prob'",), ((2, 8, 3, 3), (2, 48, 3, 3), (2, 3))),
]
