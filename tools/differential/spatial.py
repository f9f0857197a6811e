"""Random calls of operators that change the size of images, compare them, or prepare them."""

from __future__ import annotations

from typing import Any

from cases import FLOATS, NUMBERS, Case, Draw


def windows(draw: Draw, rank: int) -> dict[str, Any]:
    """A kernel with what belongs to it."""
    names = {"kernel": (1, 3), "stride": (1, 3), "dilate": (1, 2), "pad": (0, 1)}
    return {k: tuple(draw.int(*ends) for _ in range(rank)) for k, ends in names.items()}


def deconvolution(draw: Draw) -> Case:
    rank, groups, dtype = draw.int(1, 3), draw.int(1, 2), draw.one(FLOATS[:2])
    attrs = windows(draw, rank)
    if rank == 3:
        dtype = "float32"
    if rank == 3 or dtype == "float64":  # refused by MXNet, or wrong
        attrs["dilate"] = (1,) * rank
    channels, filters = groups * draw.int(1, 3), groups * draw.int(1, 3)
    shape = (draw.int(1, 2), channels, *(draw.int(1, 5) for _ in range(rank)))
    attrs |= {"num_filter": filters, "num_group": groups, "no_bias": draw.maybe()}
    if draw.maybe(0.3):
        rows = zip(shape[2:], attrs["kernel"], attrs["stride"], attrs["dilate"], strict=True)
        whole = [(n - 1) * s + d * (k - 1) + 1 for n, k, s, d in rows]
        attrs["target_shape"] = tuple(max(1, n - draw.int(0, 3)) for n in whole)
        pairs = zip(whole, attrs["target_shape"], strict=True)
        attrs["pad"] = tuple(-(-(n - m) // 2) for n, m in pairs)  # which MXNet needs, too
    elif draw.maybe():
        attrs["adj"] = tuple(draw.int(0, s) for s in attrs["stride"])
    weight = (channels, filters // groups, *attrs["kernel"])
    arrays = [draw.array(s, dtype) for s in [shape, weight, (filters,)][: 3 - attrs["no_bias"]]]
    return Case("Deconvolution", arrays, attrs)


def resampling(draw: Draw) -> Case:
    dtype, scale = draw.one(FLOATS[:2]), draw.int(1, 4)
    shape = (draw.int(1, 2), draw.int(1, 3), draw.int(1, 6), draw.int(1, 6))
    times = draw.int(1, 2)
    data, kernel = draw.array(shape, dtype), 2 * scale - scale % 2
    other = draw.array((shape[0], draw.int(1, 3), *(n * times for n in shape[2:])), dtype)
    weight = draw.array((shape[1], 1, kernel, kernel), dtype)
    up = {"scale": scale, "multi_input_mode": draw.one(("concat", "sum"))}
    corners = {"align_corners": draw.maybe()}
    sizes = {"height": draw.int(1, 9), "width": draw.int(1, 9)}
    factors = {"scale_height": draw.int(1, 6) / 2, "scale_width": draw.int(1, 6) / 2}
    even = draw.one(("to_even_down", "to_even_up", "to_odd_down", "to_odd_up"))
    resize, single = "_contrib_BilinearResize2D", data.astype("float32")
    return draw.one(
        [
            Case("UpSampling", [data], {**up, "sample_type": "nearest"}),
            Case("UpSampling", [data, other], {**up, "sample_type": "nearest"}),
            Case(
                "UpSampling",
                [data, weight],
                {**up, "sample_type": "bilinear", "num_filter": shape[1]},
            ),
            Case(resize, [single], {**sizes, **corners}),
            Case(resize, [single], {**factors, **corners, "mode": draw.one(("size", "odd_scale"))}),
            Case(resize, [single, other.astype("float32")], {"mode": "like", **corners}),
            Case(resize, [single], {"mode": even, **corners}),
            Case("_contrib_AdaptiveAvgPooling2D", [data], {"output_size": draw.shape(0, 2, 7)}),
        ]
    )


def patches(draw: Draw) -> Case:
    """Windows, regions and pairs of patches."""
    dtype = draw.one(FLOATS[:2])
    shape = (draw.int(1, 2), draw.int(1, 3), draw.int(3, 6), draw.int(3, 6))
    data, attrs, kernel = draw.array(shape, dtype), windows(draw, 2), draw.one((1, 3))
    single = data.astype("float32")
    old = {**attrs, "pool_type": draw.one(("max", "avg", "sum")), "global_pool": draw.maybe(0.1)}
    del old["dilate"]
    if not old["global_pool"]:
        old["pooling_convention"] = draw.one(("valid", "full"))
    else:  # MXNet pools what is left of the window then.
        old["pad"] = (0, 0)
    rows = zip(shape[2:], *attrs.values(), strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in rows]
    taps = attrs["kernel"][0] * attrs["kernel"][1]
    columns = (shape[0], shape[1] * taps, max(0, counts[0]) * max(0, counts[1]) or 1)
    rois = draw.array((draw.int(1, 3), 5), dtype, -3, 12)
    rois[:, 0] = draw.random.integers(-1, shape[0], len(rois))
    names = {"kernel_size": (1, 1), "max_displacement": (0, 3), "stride1": (1, 2)}
    pair = {k: draw.int(*ends) for k, ends in {**names, "stride2": (1, 2)}.items()}
    pair |= {"pad_size": draw.int(0, 3), "is_multiply": draw.maybe(), "kernel_size": kernel}
    pooled = {"pooled_size": (draw.int(1, 4), draw.int(1, 4)), "spatial_scale": draw.int(1, 4) / 4}
    return draw.one(
        [
            Case("im2col", [data], attrs),
            Case("col2im", [draw.array(columns, dtype)], {**attrs, "output_size": shape[2:]}),
            Case("Correlation", [data, draw.array(shape, dtype)], pair),
            Case("ROIPooling", [data, rois], pooled),
            Case("Pooling_v1", [single], old),
        ]
    )


def image(draw: Draw) -> Case:
    dtype, channels = draw.one(("float32", "uint8")), draw.one((1, 3))
    shape = (2 * draw.int(1, 3), 2 * draw.int(1, 3), channels)  # MXNet's flips lose odd middles.
    data = draw.random.integers(0, 256, shape).astype(dtype)
    batch = draw.random.integers(0, 256, (draw.int(1, 2), *shape)).astype(dtype)
    either, amount = draw.one((data, batch)), draw.int(1, 8) / 4
    factors = {"min_factor": amount, "max_factor": amount}
    part = {"x": draw.int(0, 3), "y": draw.int(0, 3), "width": draw.int(1, 3)}
    means = {
        k: draw.one(((2.0,), tuple(draw.int(1, 8) / 4 for _ in range(channels))))
        for k in ("mean", "std")
    }
    size = {"size": draw.shape(1, 2, 9), "keep_ratio": draw.maybe(), "interp": draw.int(0, 4)}
    colours = data if channels == 3 else data.repeat(3, 2)
    first = draw.array((*draw.shape(0, 1, 2), channels, 2, 3), draw.one(NUMBERS))
    jitter = "_image_random_" + draw.one(("brightness", "contrast", "saturation"))
    return draw.one(
        [
            Case("_image_to_tensor", [either]),
            Case("_image_normalize", [first], means),
            Case("_image_crop", [either], {**part, "height": draw.int(1, 3)}),
            Case("_image_resize", [either], size),
            Case("_image_flip_left_right", [data]),
            Case("_image_flip_top_bottom", [data]),
            Case(jitter, [data], factors),
            Case("_image_random_hue", [colours.astype("float32")], factors),
            Case("_image_adjust_lighting", [colours], {"alpha": (0.5, amount, -0.25)}),
        ]
    )


FAMILIES = {
    "deconvolution": deconvolution,
    "resampling": resampling,
    "patches": patches,
    "image": image,
}
