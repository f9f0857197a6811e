"""Random calls of operators on boxes, and of those in eight bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case, Draw

__all__ = ["FAMILIES"]


def corners(d: Draw, *shape: int, steps: int = 0) -> Any:
    """Boxes by corners, about the unit square; on a grid of `steps`, with equal overlaps."""
    low = d.random.uniform(-0.1, 0.8, (*shape, 2))
    size = d.random.uniform(0.02, 0.5, (*shape, 2))
    found = np.concatenate([low, low + size], -1)
    return (np.round(found * steps) / steps if steps else found).astype("float32")


def nms(d: Draw) -> Case:
    """Rows with ties of scores and classes."""
    images, n, more = d.int(1, 3), d.int(1, 60), d.int(0, 2)
    head = np.stack(
        [d.random.integers(-1, 4, (images, n)), d.random.integers(-2, 12, (images, n)) / 8], -1
    )
    rest = d.random.uniform(-1, 1, (images, n, more))
    data = np.concatenate([head, corners(d, images, n, steps=d.one((0, 8))), rest], -1)
    attrs: dict[str, Any] = {"overlap_thresh": d.one((0.0, 0.25, 0.5, 0.7))}
    attrs["valid_thresh"] = d.one((-1.0, 0.0, 0.5))
    for name, options in (
        ("topk", (-1, 0, 3, 20)),
        ("id_index", (-1, 0)),
        ("background_id", (-1, 0, 2)),
        ("force_suppress", (True, False)),
        ("in_format", ("corner", "center")),
        ("out_format", ("corner", "center")),
    ):
        if d.maybe():
            attrs[name] = d.one(options)
    return Case("_contrib_box_nms", [data.astype(d.one(("float32", "float64")))], attrs)


def pairs(d: Draw) -> Case:
    """Overlaps and matches."""
    dtype = d.one(("float32", "float64"))
    if d.maybe():
        shapes = [(*d.shape(1, 2), 4), (*d.shape(1, 2), 4)]
        inputs = [corners(d, *s[:-1], steps=d.one((0, 8))).astype(dtype) for s in shapes]
        return Case("_contrib_box_iou", inputs, {"format": d.one(("corner", "center"))})
    scores = d.random.integers(0, 16, d.shape(2, 3, 7)) / 16
    attrs = {"threshold": d.one((0.1, 0.5)), "is_ascend": d.maybe(), "topk": d.one((-1, 1, 2))}
    return Case("_contrib_bipartite_matching", [scores.astype(dtype)], attrs)


def offsets(d: Draw) -> Case:
    """Offsets from anchors to boxes and back."""
    b, n, m = d.int(1, 3), d.int(1, 9), d.int(1, 4)
    if d.maybe():
        attrs = {f"std{k}": d.one((0.1, 1.0)) for k in range(4)}
        attrs |= {"clip": d.one((-1.0, 0.5)), "format": d.one(("corner", "center"))}
        data = d.array((b, n, 4), "float32", -2, 2)
        return Case("_contrib_box_decode", [data, corners(d, 1, n)], attrs)
    inputs = [
        d.one((-1, 0, 1)) * np.ones((b, n), "float32") * d.random.integers(0, 2, (b, n)),
        d.random.integers(0, m, (b, n)),
        corners(d, b, n),
        corners(d, b, m),
        d.array((4,), "float32"),
        d.array((4,), "float32", 0.1, 2),
    ]
    return Case("_contrib_box_encode", [x.astype("float32") for x in inputs])


def multibox(d: Draw) -> Case:
    """Anchors, targets, detections."""
    kind, b, n, c = d.int(0, 2), d.int(1, 2), d.int(1, 40), d.int(1, 5)
    if kind == 0:
        sizes = tuple(np.round(d.random.uniform(0.1, 1, d.int(1, 3)), 3).tolist())
        ratios = tuple(np.round(d.random.uniform(0.5, 2, d.int(1, 3)), 3).tolist())
        attrs: dict[str, Any] = {"sizes": sizes, "ratios": ratios, "clip": d.maybe()}
        if d.maybe():
            attrs |= {"steps": (0.25, 0.125), "offsets": (0.5, 0.25)}
        data = np.zeros((1, 1, d.int(1, 5), d.int(1, 5)), "float32")
        return Case("_contrib_MultiBoxPrior", [data], attrs)
    steps = d.one((0, 8))
    anchors = corners(d, 1, n, steps=steps)
    if kind == 1:
        m = d.int(1, 6)
        labels = np.concatenate(
            [d.random.integers(0, 3, (b, m, 1)), corners(d, b, m, steps=steps)], -1
        )
        labels[:, d.int(0, m) :] = -1
        attrs = {"overlap_threshold": d.one((0.0, 0.3, 0.5))}
        if d.maybe():
            attrs |= {
                "negative_mining_ratio": d.one((0.5, 1.0, 3.0)),
                "negative_mining_thresh": d.one((0.3, 0.5, 1.1)),
                "minimum_negative_samples": d.int(0, 5),
            }
        scores = d.array((b, c, n), "float32")
        return Case("_contrib_MultiBoxTarget", [anchors, labels.astype("float32"), scores], attrs)
    scores = d.random.integers(0, 9, (b, c, n)) / 8
    attrs = {
        "nms_threshold": d.one((-1.0, 0.3, 0.5, 1.0)),
        "threshold": d.one((0.01, 0.5)),
        "force_suppress": d.maybe(),
        "clip": d.maybe(),
        "nms_topk": d.one((-1, 5)),
    }
    moves = d.array((b, n * 4), "float32", -1, 1)
    return Case("_contrib_MultiBoxDetection", [scores.astype("float32"), moves, anchors], attrs)


def proposal(d: Draw) -> Case:
    """Regions of one image, or more."""
    b, h, w = d.int(1, 2), d.int(1, 5), d.int(1, 5)
    scales, ratios = d.one(((1.0,), (1.0, 2.0))), d.one(((1.0,), (0.5, 2.0)))
    k = len(scales) * len(ratios)
    attrs = {
        "scales": scales,
        "ratios": ratios,
        "feature_stride": d.one((8, 16)),
        "rpn_pre_nms_top_n": d.one((-1, 10, 50)),
        "rpn_post_nms_top_n": d.int(1, 12),
        "threshold": d.one((0.3, 0.7)),
        "rpn_min_size": d.int(0, 12),
        "output_score": d.maybe(),
        "iou_loss": d.maybe(),
    }
    scores = d.random.permutation(b * 2 * k * h * w).reshape(b, 2 * k, h, w) / 1000
    sides = (np.array([h, w]) * attrs["feature_stride"]).tolist()
    info = np.stack([*(d.random.integers(8, n + 1, (b,)) for n in sides), [1] * b], 1)
    inputs = [scores, d.array((b, 4 * k, h, w), "float32", -0.5, 0.5), info]
    name = "_contrib_Proposal" if b == 1 else "_contrib_MultiProposal"
    return Case(name, [np.asarray(x, "float32") for x in inputs], attrs)


def ends(d: Draw, count: int) -> list[Any]:
    """Ranges."""
    numbers = d.random.uniform(0.1, 3, (count, 2)) * [-1, 1]
    return [np.array([x], "float32") for x in numbers.ravel()]


def eight(d: Draw, kind: str, *shape: int) -> Any:
    """Numbers of all that eight bits hold."""
    low, high = (-127, 127) if kind == "int8" else (0, 255)
    return d.random.integers(low, high + 1, shape).astype(kind)


def converted(d: Draw) -> Case:
    """Real numbers in eight bits, and back."""
    kind, shape = d.one(("int8", "uint8")), d.shape()
    known = {"min_calib_range": -d.int(1, 4) / 2, "max_calib_range": d.int(1, 4) / 2}
    pick = d.int(0, 3)
    if pick == 0:
        return Case(
            "_contrib_quantize", [d.array(shape, "float32"), *ends(d, 1)], {"out_type": kind}
        )
    if pick == 1:
        attrs = {"out_type": kind, **(known if d.maybe() else {})}
        return Case("_contrib_quantize_v2", [d.array(shape, "float32")], attrs)
    if pick == 2:
        return Case("_contrib_dequantize", [eight(d, kind, *shape), *ends(d, 1)])
    data = d.random.integers(-(2**30), 2**30, shape).astype("int32")
    attrs = {"out_type": kind, **(known if d.maybe() else {})}
    return Case("_contrib_requantize", [data, *ends(d, 1)], attrs)


def layers(d: Draw) -> Case:
    """Layers in eight bits."""
    kind, pick = d.one(("int8", "uint8")), d.int(0, 4)
    known = {"min_calib_range": -d.int(1, 9) / 2, "max_calib_range": d.int(1, 9) / 2}
    data = eight(d, kind, d.int(1, 3), d.int(1, 4), d.int(3, 7), d.int(3, 7))
    if pick == 0:
        shape = d.shape(2, 3)
        inputs = [eight(d, kind, *shape), eight(d, kind, *shape), *ends(d, 2)]
        return Case("_contrib_quantized_elemwise_add", inputs, known if d.maybe(0.8) else {})
    if pick == 1:
        attrs = {"kernel": (d.int(1, 3), d.int(1, 3)), "stride": (d.int(1, 2), d.int(1, 2))}
        attrs |= {"pool_type": d.one(("max", "avg")), "count_include_pad": d.maybe()}
        attrs["pooling_convention"] = d.one(("valid", "full"))
        return Case("_contrib_quantized_pooling", [data, *ends(d, 1)], attrs)
    if pick == 2:
        k, hidden, no_bias = int(np.prod(data.shape[1:])), d.int(1, 5), d.maybe()
        inputs = [data, eight(d, "int8", hidden, k)] + [eight(d, "int8", hidden)] * (not no_bias)
        inputs += ends(d, len(inputs))
        attrs = {"num_hidden": hidden, "no_bias": no_bias}
        return Case("_contrib_quantized_fully_connected", inputs, attrs)
    if pick == 3:
        inputs = [data.astype("uint8"), eight(d, "int8", d.int(1, 5), data.shape[1], 3, 2)]
        attrs = {"kernel": (3, 2), "num_filter": inputs[1].shape[0], "no_bias": True}
        attrs |= {"stride": (d.int(1, 2), 1), "pad": (d.int(0, 1), d.int(0, 1))}
        return Case("_contrib_quantized_conv", [*inputs, *ends(d, 2)], attrs)
    c = data.shape[1]
    inputs = [data, *(d.array((c,), "float32") for _ in range(3)), d.array((c,), "float32", 0.5, 2)]
    return Case("_contrib_quantized_batch_norm", [*inputs, *ends(d, 1)], known)


FAMILIES: dict[str, Callable[[Draw], Case]] = {
    "suppression": nms,
    "pairs of boxes": pairs,
    "offsets of boxes": offsets,
    "multibox": multibox,
    "proposals": proposal,
    "eight bits": converted,
    "layers in eight bits": layers,
}
