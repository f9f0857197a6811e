"""Non-maximum suppression, against its definition."""

import numpy as np

from ..case import Case, Refused
from .bounding_box import corners, overlaps


def kept(rows, a):
    """The rows that stay, the best first."""
    score, start = a.get("score_index", 1), a.get("coord_start", 2)
    label, back = a.get("id_index", -1), a.get("background_id", -1)
    valid = rows[:, score] > a.get("valid_thresh", 0)
    if label >= 0:
        valid &= rows[:, label] != back
    some = np.flatnonzero(valid)
    some = some[np.argsort(-rows[some, score], kind="stable")]
    topk = a.get("topk", -1)
    some = some[:topk] if topk > 0 else some
    boxes = corners(rows[:, start : start + 4], a.get("in_format", "corner"))
    found = []
    for i in some:
        others = [
            j
            for j in found
            if label < 0 or a.get("force_suppress") or int(rows[i, label]) == int(rows[j, label])
        ]
        if not (overlaps(boxes[[i]], boxes[others]) > a.get("overlap_thresh", 0.5)).any():
            found.append(i)
    return found


def converted(box, a):
    if box[0] < 0 or a.get("in_format", "corner") == a.get("out_format", "corner"):
        return box
    if a.get("out_format", "corner") == "corner":
        return corners(box, "center")
    return np.concatenate([(box[:2] + box[2:]) / 2, box[2:] - box[:2]])


def nms(a):
    def oracle(data):
        if a.get("topk") == 0:
            return data
        out, start = np.full(data.shape, -1.0), a.get("coord_start", 2)
        shape = (int(np.prod(data.shape[:-2])), *data.shape[-2:])
        for line, rows in zip(out.reshape(shape), data.reshape(shape), strict=True):
            for to, i in zip(line, kept(rows, a), strict=False):
                to[:] = rows[i]
                to[start : start + 4] = converted(rows[i, start : start + 4], a)
        return out

    return oracle


def back(a):
    def oracle(data, grad):
        out = np.zeros(data.shape)
        shape = (int(np.prod(data.shape[:-2])), *data.shape[-2:])
        lines = (x.reshape(shape) for x in (data, grad, out))
        for rows, given, to in zip(*lines, strict=True):
            for k, i in enumerate(range(len(rows)) if a.get("topk") == 0 else kept(rows, a)):
                to[i] = given[k]
        return [out]

    return oracle


CLASSES = {"id_index": 0, "valid_thresh": -1.0, "overlap_thresh": 0.1}
CASES = [
    Case(
        "_contrib_box_nms",
        nms(attrs),
        (shape,),
        attrs,
        domain,
        dtypes,
        gradient=back(attrs),
        orders=1,
    )
    for shape, domain, attrs, dtypes in [
        ((9, 6), "distinct", {}, None),
        ((2, 3, 9, 7), "halves", {**CLASSES, "background_id": 1}, ("float32",)),
        ((2, 40, 6), "halves", {**CLASSES, "force_suppress": True, "topk": 9}, ("float32",)),
        ((2, 40, 6), "small", {"overlap_thresh": 0.2, "in_format": "center"}, ("float32",)),
        ((9, 6), "distinct", {"out_format": "center", "overlap_thresh": 0.7}, ("float64",)),
        ((9, 8), "distinct", {"coord_start": 1, "score_index": 6, "topk": 0}, ("float32",)),
        ((2, 0, 6), "normal", {}, ("float32",)),
    ]
]
REFUSED = [
    Refused("_contrib_box_nms", ("two dimensions", "(6,)"), ((6,),)),
    Refused("_contrib_box_nms", ("'coord_start'=2", "5 numbers"), ((3, 5),)),
    Refused("_contrib_box_nms", ("'score_index'=3",), ((3, 6),), {"score_index": 3}),
    Refused("_contrib_box_nms", ("'id_index'=6",), ((3, 6),), {"id_index": 6}),
]
