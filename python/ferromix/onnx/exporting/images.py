"""Pooling, and what samples images."""

from __future__ import annotations

from math import prod

import numpy as np

from .site import Site, ints, translates

__all__: list[str] = []

_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "lp": "GlobalLpPool"}


@translates("Pooling")
def _pooling(at: Site) -> str:
    layout, rank = at.attrs["layout"], at.rank()
    if layout is None or layout[1] == "C":
        return _pooled(at, at.inputs[0], 2)
    found = _pooled(at, at.transpose(at.inputs[0], 0, rank - 1, *range(1, rank - 1)), 1)
    return at.transpose(found, 0, *range(2, rank), 1)


def _pooled(at: Site, x: str, first: int) -> str:
    """Of an image with its channels in axis 1; in the operator's input `first` is that of rows."""
    kind, power = at.attrs["pool_type"], at.attrs["p_value"]
    if at.attrs["global_pool"]:
        if kind == "sum":
            return at.op("ReduceSum", x, ints(*range(2, at.rank())), keepdims=1)
        return at.op(_GLOBAL[kind], x, p=power if kind == "lp" else None)
    kernel = list(at.attrs["kernel"])
    before = list(at.attrs["pad"]) or [0] * len(kernel)
    if at.attrs["pooling_convention"] == "same":
        before = [0] * len(kernel)
    window = {"kernel_shape": kernel, "strides": list(at.attrs["stride"]) or [1] * len(kernel)}
    after = _behind(at, window, before, first)
    if kind == "max":
        return at.op("MaxPool", x, pads=before + after, **window)
    if kind == "avg":
        return _averaged(at, x, before, after, window)
    if any(before + after):
        x = _padded(at, x, before, after)
    if kind == "lp":
        return at.op("LpPool", x, p=power, **window)
    return at.op("Mul", at.op("AveragePool", x, **window), at.number(prod(kernel)))


def _averaged(
    at: Site, x: str, before: list[int], after: list[int], window: dict[str, list[int]]
) -> str:
    """The mean; the zeros of `pad` count unless the operator says no, what lies beyond does not."""
    if at.attrs.get("count_include_pad") is not False and any(before):
        over = [max(0, a - b) for a, b in zip(after, before, strict=True)]
        within = [min(a, b) for a, b in zip(after, before, strict=True)]
        x, before, after = _padded(at, x, before, within), [0] * len(before), over
    pads = before + after if any(before + after) else None
    return at.op("AveragePool", x, pads=pads, count_include_pad=pads and 0, **window)


def _behind(at: Site, window: dict[str, list[int]], before: list[int], first: int) -> list[int]:
    """How far the windows reach beyond the image's end."""
    if at.attrs["pooling_convention"] == "valid":
        return before
    out = at.out_image(first)
    rows = zip(*window.values(), before, strict=True)
    reached = [(out[i] - 1) * stride + size - pad for i, (size, stride, pad) in enumerate(rows)]
    return [max(0, r - at.extent(i + first)) for i, r in enumerate(reached)]


def _padded(at: Site, x: str, before: list[int], after: list[int]) -> str:
    return at.op("Pad", x, ints(0, 0, *before, 0, 0, *after), at.number(0), mode="constant")


@translates("_contrib_AdaptiveAvgPooling2D")
def _adaptive(at: Site) -> str:
    """Two products with the weights of means, one for the rows and one for the columns."""
    x, out = at.inputs[0], at.out_image()
    if out == (1, 1):
        return at.op("GlobalAveragePool", x)
    rows, columns = (_means(at.extent(i + 2), n).astype(at.dtype()) for i, n in enumerate(out))
    return at.op("MatMul", rows, at.op("MatMul", x, columns.T.copy()))


def _means(extent: int, count: int) -> np.ndarray:
    weights = np.zeros((count, extent))
    for i in range(count):
        start, end = i * extent // count, -(-(i + 1) * extent // count)
        weights[i, start:end] = 1 / (end - start)
    return weights


@translates("UpSampling")
def _upsampling(at: Site) -> str | None:
    if at.attrs["sample_type"] != "nearest":
        return None
    out = at.out_image()
    found = [_enlarged(at, i, out) for i in range(len(at.inputs))]
    if len(found) == 1:
        return found[0]
    if at.attrs["multi_input_mode"] == "sum":
        return at.op("Sum", *found)
    return at.op("Concat", *found, axis=1)


def _enlarged(at: Site, i: int, out: tuple[int, ...]) -> str:
    factors = [1, 1, *(n / at.extent(k + 2, i) for k, n in enumerate(out))]
    scales = np.array(factors, np.float32)
    return at.op(
        "Resize",
        *(at.inputs[i], None, scales),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )


@translates("_contrib_BilinearResize2D")
def _bilinear_resize(at: Site) -> str:
    corners = "align_corners" if at.attrs["align_corners"] else "pytorch_half_pixel"
    sizes = at.op("Concat", at.op("Shape", at.inputs[0], end=2), ints(*at.out_image()), axis=0)
    return at.op(
        "Resize",
        *(at.inputs[0], None, None, sizes),
        mode="linear",
        coordinate_transformation_mode=corners,
    )


@translates("BilinearSampler")
def _bilinear_sampler(at: Site) -> list[str]:
    data, grid = at.inputs
    places = at.transpose(grid, 0, 2, 3, 1)
    options = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": 1}
    return [at.op("GridSample", data, places, **options)]


@translates("GridGenerator")
def _grid_generator(at: Site) -> list[str]:
    x = at.inputs[0]
    height, width = at.out_image()
    if at.attrs["transform_type"] == "affine":
        rows, columns = np.meshgrid(*map(_range, (height, width)), indexing="ij")
        places = np.stack([columns, rows, np.ones_like(rows)]).reshape(3, -1)
        found = at.op("MatMul", at.reshape(x, [-1, 2, 3]), places.astype(at.dtype()))
        return [at.reshape(found, [-1, 2, height, width])]
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    half = np.array([max(width - 1, 1), max(height - 1, 1)]).reshape(2, 1, 1) / 2
    moved = at.op("Add", x, np.stack([columns, rows]).astype(at.dtype()))
    scaled = at.op("Div", moved, half.astype(at.dtype()))
    return [at.op("Sub", scaled, at.number(1))]


def _range(extent: int) -> np.ndarray:
    return np.linspace(-1, 1, extent) if extent > 1 else np.full(1, -1.0)


@translates("_contrib_ROIAlign")
def _roi_align(at: Site) -> str:
    if at.attrs["position_sensitive"]:
        raise at.error("position_sensitive=True")
    data, rois = at.inputs
    batch = at.cast(at.op("Gather", rois, np.int64(0), axis=1), "int64")
    boxes = at.op("Slice", rois, ints(1), ints(5), ints(1))
    height, width = at.attrs["pooled_size"]
    aligned = "half_pixel" if at.attrs["aligned"] else "output_half_pixel"
    return at.op(
        "RoiAlign",
        *(data, boxes, batch),
        coordinate_transformation_mode=aligned,
        output_height=height,
        output_width=width,
        sampling_ratio=max(0, at.attrs["sample_ratio"]),
        spatial_scale=at.attrs["spatial_scale"],
    )


@translates("ROIPooling")
def _roi_pooling(at: Site) -> list[str]:
    size, scale = list(at.attrs["pooled_size"]), at.attrs["spatial_scale"]
    return [at.op("MaxRoiPool", *at.inputs, pooled_shape=size, spatial_scale=scale)]


@translates("Crop")
def _crop(at: Site) -> str:
    height, width = at.out_image()
    top, left = at.attrs["offset"]
    if at.attrs["center_crop"]:
        top, left = (at.extent(2) - height) // 2, (at.extent(3) - width) // 2
    return at.op(
        "Slice", at.inputs[0], ints(top, left), ints(top + height, left + width), ints(2, 3)
    )


@translates("_image_to_tensor")
def _to_tensor(at: Site) -> str:
    rank = at.rank()
    moved = at.transpose(
        at.cast(at.inputs[0], "float32"), *range(rank - 3), -1 % rank, *(-3 % rank, -2 % rank)
    )
    return at.op("Div", moved, np.float32(255))


@translates("_image_normalize")
def _normalize(at: Site) -> str:
    x, channels = at.inputs[0], at.extent(-3)
    if at.dtype() != at.out_dtype():
        x = at.cast(x, at.out_dtype())
    for kind, name in (("Sub", "mean"), ("Div", "std")):
        given = at.attrs[name]
        numbers = np.array((given * channels)[:channels] if len(given) == 1 else given[:channels])
        x = at.op(kind, x, numbers.astype(at.out_dtype()).reshape(-1, 1, 1))
    return x
