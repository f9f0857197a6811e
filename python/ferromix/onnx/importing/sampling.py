"""What samples images, and what draws random numbers."""

from __future__ import annotations

import numpy as np

from ...symbol import Symbol
from ..package import onnx_package
from .use import Use, reads

__all__: list[str] = []


@reads("Resize", "Upsample")
def _resize(at: Use) -> Symbol:
    mode = at.attrs.get("mode", "nearest")
    first = 1 if at.kind == "Upsample" or at.opset < 11 else 2
    if at.kind == "Upsample" and "scales" in at.attrs:
        scales = [float(n) for n in at.attrs["scales"]]
    else:
        scales = [float(n) for n in at.constant(first)] if _filled(at, first) else None
    sizes = at.ints(3) if at.has(3) and first == 2 else None
    if at.rank() != 4 or at.attrs.get("axes") not in (None, [0, 1, 2, 3]):
        raise at.error("anything but height and width of images")
    if scales is None and sizes is None:
        raise at.error("neither scales nor sizes")
    if mode == "nearest":
        return _nearest(at, scales, sizes)
    if mode != "linear":
        raise at.error(f"mode '{mode}'")
    where = at.attrs.get("coordinate_transformation_mode", "half_pixel")
    if where not in ("align_corners", "half_pixel", "pytorch_half_pixel"):
        raise at.error(f"coordinate_transformation_mode '{where}' of mode 'linear'")
    if sizes is None:
        assert scales is not None
        sizes = [int(n * s) for n, s in zip(at.extents(), scales, strict=True)]
    options = {"height": sizes[2], "width": sizes[3]}
    corners = where == "align_corners"
    return at.last("_contrib_BilinearResize2D", at.symbol(), align_corners=corners, **options)


def _filled(at: Use, i: int) -> bool:
    return at.has(i) and at.constant(i).size > 0


def _nearest(at: Use, scales: list[float] | None, sizes: list[int] | None) -> Symbol:
    if scales is None:
        assert sizes is not None
        scales = [n / old for n, old in zip(sizes, at.extents(), strict=True)]
    whole = [int(s) for s in scales]
    if whole != scales or whole[:2] != [1, 1]:
        raise at.error(f"mode 'nearest' with factors {scales}; whole ones can be said")
    found = at.symbol()
    if whole[2] == whole[3]:
        return at.last("UpSampling", found, scale=whole[2], sample_type="nearest", num_args=1)
    for axis in (2, 3):
        found = at.op("repeat", found, repeats=whole[axis], axis=axis)
    return found


@reads("GridSample")
def _grid_sample(at: Use) -> Symbol:
    mode = at.attrs.get("mode", "bilinear")
    if mode not in ("bilinear", "linear"):
        raise at.error(f"mode '{mode}'")
    if at.attrs.get("padding_mode", "zeros") != "zeros":
        raise at.error(f"padding_mode '{at.attrs['padding_mode']}'")
    grid = at.op("transpose", at.symbol(1), axes=(0, 3, 1, 2))
    if not at.attrs.get("align_corners", 0):
        # Places between the middles of the outer pixels, in place of between their edges.
        height, width = at.extents()[2:]
        sizes = np.array([width, height], np.float64).reshape(1, 2, 1, 1)
        factor = (sizes / np.maximum(sizes - 1, 1)).astype(np.float32)
        grid = at.op("broadcast_mul", grid, at.parameter(1, factor))
    return at.last("BilinearSampler", at.symbol(), grid)


@reads("RoiAlign")
def _roi_align(at: Use) -> Symbol:
    at.require(mode="avg")
    usual = "half_pixel" if at.opset >= 16 else "output_half_pixel"
    where = at.attrs.get("coordinate_transformation_mode", usual)
    batch = at.op("expand_dims", at.op("Cast", at.symbol(2), dtype="float32"), axis=1)
    rois = at.op("Concat", batch, at.symbol(1), dim=1, num_args=2)
    ratio = at.attrs.get("sampling_ratio", 0)
    return at.last(
        "_contrib_ROIAlign",
        *(at.symbol(), rois),
        pooled_size=(at.attrs.get("output_height", 1), at.attrs.get("output_width", 1)),
        spatial_scale=at.attrs.get("spatial_scale", 1.0),
        sample_ratio=ratio or -1,
        aligned=where == "half_pixel",
    )


@reads("MaxRoiPool")
def _max_roi_pool(at: Use) -> Symbol:
    size, scale = tuple(at.attrs["pooled_shape"]), at.attrs.get("spatial_scale", 1.0)
    return at.last("ROIPooling", *at.symbols(), pooled_size=size, spatial_scale=scale)


@reads("RandomUniform", "RandomNormal")
def _random(at: Use) -> Symbol:
    dtype = onnx_package().helper.tensor_dtype_to_np_dtype(at.attrs.get("dtype", 1))
    options = {"shape": tuple(at.attrs["shape"]), "dtype": str(np.dtype(dtype))}
    if at.kind == "RandomUniform":
        ends = {"low": at.attrs.get("low", 0.0), "high": at.attrs.get("high", 1.0)}
        return at.last("_random_uniform", **ends, **options)
    about = {"loc": at.attrs.get("mean", 0.0), "scale": at.attrs.get("scale", 1.0)}
    return at.last("_random_normal", **about, **options)
