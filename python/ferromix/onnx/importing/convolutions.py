"""Convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbol import Symbol
from .use import Use, reads

__all__: list[str] = []

_LEAST = float(np.finfo(np.float32).min)


def _pads(at: Use, kernel: list[int], i: int = 0) -> tuple[list[int], list[int]]:
    """The padding before and behind each axis of an image."""
    count = len(kernel)
    auto = at.attrs.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", ""):
        pads = list(at.attrs.get("pads") or [0] * (2 * count))
        if len(pads) != 2 * count or min(pads) < 0:
            raise at.error(f"pads={pads} for a window of {count} axes")
        return pads[:count], pads[count:]
    if auto == "VALID":
        return [0] * count, [0] * count
    strides = at.attrs.get("strides") or [1] * count
    dilations = at.attrs.get("dilations") or [1] * count
    before, behind = [], []
    rows = zip(at.extents(i)[2:], kernel, strides, dilations, strict=True)
    for extent, size, stride, dilation in rows:
        out = -(-extent // stride)
        whole = max(0, (out - 1) * stride + (size - 1) * dilation + 1 - extent)
        less = whole // 2
        before.append(less if auto == "SAME_UPPER" else whole - less)
        behind.append(whole - before[-1])
    return before, behind


def _padded(at: Use, x: Symbol, before: list[int], behind: list[int], value: float = 0) -> Symbol:
    """The image with numbers around."""
    width = [0, 0, 0, 0]
    for pair in zip(before, behind, strict=True):
        width += pair
    return at.op("Pad", x, mode="constant", pad_width=tuple(width), constant_value=value)


def _window(at: Use, kernel: list[int]) -> dict[str, Any]:
    count = len(kernel)
    strides = at.attrs.get("strides") or [1] * count
    return {"kernel": tuple(kernel), "stride": tuple(strides)}


@reads("Conv")
def _convolution(at: Use) -> Symbol:
    weight = at.extents(1)
    kernel = list(at.attrs.get("kernel_shape") or weight[2:])
    before, behind = _pads(at, kernel)
    x = at.symbol()
    if before != behind:
        x, before = _padded(at, x, before, behind), [0] * len(kernel)
    bias = [at.symbol(2)] if at.has(2) else []
    return at.last(
        "Convolution",
        *(x, at.symbol(1), *bias),
        num_filter=weight[0],
        num_group=at.attrs.get("group", 1),
        no_bias=not bias,
        pad=tuple(before),
        dilate=tuple(at.attrs.get("dilations") or [1] * len(kernel)),
        **_window(at, kernel),
    )


@reads("ConvTranspose")
def _deconvolution(at: Use) -> Symbol:
    weight, groups = at.extents(1), at.attrs.get("group", 1)
    kernel = list(at.attrs.get("kernel_shape") or weight[2:])
    count = len(kernel)
    if at.attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "", "VALID"):
        raise at.error(f"auto_pad={at.attrs['auto_pad']}")
    if "output_shape" in at.attrs:
        raise at.error("output_shape; pads say the same")
    before, behind = _pads(at, kernel)
    adj = list(at.attrs.get("output_padding") or [0] * count)
    cut = [max(b, a) if b != a else b for b, a in zip(before, behind, strict=True)]
    uneven = before != behind
    bias = [at.symbol(2)] if at.has(2) else []
    found = (at.op if uneven else at.last)(
        "Deconvolution",
        *(at.symbol(), at.symbol(1), *bias),
        num_filter=weight[1] * groups,
        num_group=groups,
        no_bias=not bias,
        pad=tuple([0] * count if uneven else cut),
        adj=tuple(adj),
        dilate=tuple(at.attrs.get("dilations") or [1] * count),
        **_window(at, kernel),
    )
    if uneven:
        for axis, (first, last) in enumerate(zip(before, behind, strict=True)):
            found = at.op(
                "slice_axis", found, axis=axis + 2, begin=first, end=-last if last else None
            )
    return found


@reads("MaxPool")
def _max_pool(at: Use) -> list[Symbol]:
    if at.outputs > 1:
        raise at.error("the places of the maxima as a second output")
    if any(d != 1 for d in at.attrs.get("dilations") or []):
        raise at.error(f"dilations={at.attrs['dilations']}")
    at.require(storage_order=0)
    kernel = list(at.attrs["kernel_shape"])
    before, behind = _pads(at, kernel)
    x = at.symbol()
    if before != behind:
        x, before = _padded(at, x, before, behind, _LEAST), [0] * len(kernel)
    return [_pool(at, x, kernel, before, pool_type="max")]


def _pool(at: Use, x: Symbol, kernel: list[int], pad: list[int], **attrs: Any) -> Symbol:
    full = "full" if at.attrs.get("ceil_mode", 0) else "valid"
    window = _window(at, kernel)
    return at.last("Pooling", x, pad=tuple(pad), pooling_convention=full, **window, **attrs)


@reads("AveragePool")
def _average_pool(at: Use) -> Symbol:
    if any(d != 1 for d in at.attrs.get("dilations") or []):
        raise at.error(f"dilations={at.attrs['dilations']}")
    kernel = list(at.attrs["kernel_shape"])
    before, behind = _pads(at, kernel)
    counted = bool(at.attrs.get("count_include_pad", 0))
    if before == behind:
        more = {"pool_type": "avg", "count_include_pad": counted}
        return _pool(at, at.symbol(), kernel, before, **more)
    x = _padded(at, at.symbol(), before, behind)
    none = [0] * len(kernel)
    if counted:
        return _pool(at, x, kernel, none, pool_type="avg", count_include_pad=True)
    # The sum over the window, by how many of its elements are of the image.
    ones = _padded(at, at.op("ones_like", at.symbol()), before, behind)
    sums = [
        at.op(
            "Pooling",
            v,
            pool_type="sum",
            pooling_convention="full" if at.attrs.get("ceil_mode", 0) else "valid",
            **_window(at, kernel),
        )
        for v in (x, ones)
    ]
    return at.last("broadcast_div", *sums)


@reads("LpPool")
def _lp_pool(at: Use) -> Symbol:
    kernel = list(at.attrs["kernel_shape"])
    before, behind = _pads(at, kernel)
    x = at.symbol()
    if before != behind or any(before):
        x, before = _padded(at, x, before, behind), [0] * len(kernel)
    return _pool(at, x, kernel, before, pool_type="lp", p_value=at.attrs.get("p", 2))


@reads("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(at: Use) -> Symbol:
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max"}.get(at.kind, "lp")
    power = {"p_value": at.attrs.get("p", 2)} if kind == "lp" else {}
    ones = (1,) * (at.rank() - 2)
    return at.last("Pooling", at.symbol(), global_pool=True, kernel=ones, pool_type=kind, **power)
