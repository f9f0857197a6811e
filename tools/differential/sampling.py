"""Random calls of the operators that read feature maps, and of others of contrib."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, Draw

REALS = ("float32", "float64")


def rois(draw: Draw, count: int, images: int, dtype: str, turned: bool = False) -> Any:
    """Regions, some of them partly outside."""
    number = draw.random.integers(0, images, count)
    ends = draw.random.uniform(-2, 14, (count, 4))
    if turned:
        ends[:, 2:] = draw.random.uniform(0.2, 9, (count, 2))
        ends = np.column_stack([ends, draw.random.uniform(-200, 200, count)])
    return np.column_stack([number, ends]).astype(dtype)


def warps(draw: Draw) -> Case:
    """Grids, and images read at them."""
    dtype, n, high, wide = draw.one(REALS), draw.int(1, 3), draw.int(2, 6), draw.int(2, 6)
    data = draw.array((n, draw.int(1, 4), draw.int(1, 7), draw.int(1, 7)), dtype)
    affine = {"transform_type": "affine", "target_shape": (high, wide)}
    loc = draw.array((n, 6), dtype, -1.5, 1.5)
    flow = draw.array((n, 2, high, wide), "float32")
    return draw.one(
        [
            Case("BilinearSampler", [data, draw.array((n, 2, high, wide), dtype, -1.6, 1.6)]),
            Case("GridGenerator", [loc.astype("float32")], affine),
            Case("GridGenerator", [flow], {"transform_type": "warp"}),
            Case("SpatialTransformer", [data, loc], {**affine, "sampler_type": "bilinear"}),
        ]
    )


def regions(draw: Draw) -> Case:
    """Regions of images."""
    dtype, images, size = draw.one(REALS), draw.int(1, 3), draw.int(1, 4)
    count, scale = draw.int(1, 5), draw.one((1.0, 0.5, 0.25))
    # MXNet has factors in float32, also for float64.
    scale = 0.3 if dtype == "float32" and draw.maybe(0.3) else scale
    bins = (size, draw.int(1, 4))
    groups, tops = draw.int(1, 3), draw.int(1, 2)
    own = draw.maybe()
    channels = draw.int(1, 3) * (bins[0] * bins[1] if own else 1)
    image = (draw.int(1, 8), draw.int(1, 8))
    data = draw.array((images, channels, *image), dtype)
    grouped = draw.array((images, tops * groups * groups, *image), dtype)
    plain = {"spatial_scale": scale, "pooled_size": bins}
    some = {"spatial_scale": scale, "output_dim": tops, "pooled_size": size, "group_size": groups}
    flat = rois(draw, count, images, dtype)
    parts = draw.int(1, 3)
    moved = {**some, "sample_per_part": draw.int(1, 3), "part_size": parts, "trans_std": 0.25}
    samples = draw.int(-1, 3)
    trans = draw.array((count, 2 * draw.one((1, tops)), parts, parts), dtype, -1, 1)
    return draw.one(
        [
            Case(
                "_contrib_ROIAlign",
                [data, flat],
                {**plain, "sample_ratio": samples, "position_sensitive": own},
            ),
            Case(
                "_contrib_RROIAlign",
                [data, rois(draw, count, images, dtype, turned=True)],
                {**plain, "sampling_ratio": samples},
            ),
            Case("_contrib_PSROIPooling", [grouped, flat], some),
            Case("_contrib_DeformablePSROIPooling", [grouped, flat, trans], moved),
            Case("_contrib_DeformablePSROIPooling", [grouped, flat], {**moved, "no_trans": True}),
        ]
    )


def deformable(draw: Draw) -> Case:
    """Convolutions whose kernels move."""
    dtype, masked, n = draw.one(REALS), draw.maybe(), draw.int(1, 2)
    kernel, stride, dilate = ((draw.int(1, top), draw.int(1, top)) for top in (3, 2, 2))
    pad, image = (draw.int(0, 2), draw.int(0, 2)), (draw.int(5, 8), draw.int(5, 8))
    groups, moved, bias = draw.int(1, 2), draw.int(1, 2), draw.maybe()
    out = tuple(
        (i + 2 * p - d * (k - 1) - 1) // s + 1
        for i, p, d, k, s in zip(image, pad, dilate, kernel, stride, strict=True)
    )
    each = moved * kernel[0] * kernel[1]
    inputs = [
        draw.array((n, 4, *image), dtype),
        draw.array((n, 2 * each, *out), dtype, -4, 4),
        *([draw.array((n, each, *out), dtype)] if masked else []),
        draw.array((6, 4 // groups, *kernel), dtype),
        *([draw.array((6,), dtype)] if bias else []),
    ]
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "num_filter": 6}
    attrs |= {"num_group": groups, "num_deformable_group": moved, "no_bias": not bias}
    name = "ModulatedDeformableConvolution" if masked else "DeformableConvolution"
    return Case(f"_contrib_{name}", inputs, attrs)


def heads(draw: Draw) -> Case:
    """Products of attention, likelihoods, slices put in."""
    n, m, batch, count, depth = (draw.int(1, 6) for _ in range(5))
    own = draw.array((n, batch, count * 3 * depth), "float32")
    pair = draw.array((n, batch, count * 2 * depth), "float32")
    query = draw.array((m, batch, count * depth), "float32")
    attrs, name = {"heads": count}, "_contrib_interleaved_matmul_"
    return draw.one(
        [
            Case(name + "selfatt_qk", [own], attrs),
            Case(
                name + "selfatt_valatt",
                [own, draw.array((batch * count, n, n), "float32")],
                attrs,
            ),
            Case(name + "encdec_qk", [query, pair], attrs),
            Case(
                name + "encdec_valatt",
                [pair, draw.array((batch * count, m, n), "float32")],
                attrs,
            ),
            copied(draw),
            hawkes(draw),
        ]
    )


def copied(draw: Draw) -> Case:
    """Slices put in at differing indices."""
    dtype, shape = draw.one((*REALS, "float16", "int32", "uint8")), draw.shape()
    places = draw.random.permutation(shape[0])[: draw.int(1, shape[0])]
    new = draw.array((len(places), *shape[1:]), dtype)
    index = places.astype(draw.one(("int32", "int64", "float32")))
    return Case("_contrib_index_copy", [draw.array(shape, dtype), index, new])


def hawkes(draw: Draw) -> Case:
    """Points in time."""
    dtype, n, k, t = "float32", draw.int(1, 4), draw.int(1, 3), draw.int(1, 6)
    positive = [draw.array(s, dtype, 0.1, 2) for s in ((n, k), (k,), (k,), (n, k), (n, t))]
    marks = draw.random.integers(0, k, (n, t)).astype("int32")
    valid = draw.random.integers(0, t + 1, n).astype(dtype)
    end = draw.array((n,), dtype, 12, 15)
    return Case("_contrib_hawkesll", [*positive, marks, valid, end])


FAMILIES = {"warps": warps, "regions": regions, "deformable": deformable, "heads": heads}
