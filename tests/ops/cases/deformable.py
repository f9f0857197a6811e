"""Convolutions with kernels that move, one product at a time."""

import numpy as np

from ..case import Case, Refused
from .warps import at

PLAIN, MASKED = "_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"


def at_rim(plane, y, x):
    """A plane at a point; its last row and column go on for a pixel, and nothing else does."""
    high, wide = plane.shape
    if not (0 <= y < high and 0 <= x < wide):
        return 0.0
    return at(plane, min(y, high - 1), min(x, wide - 1))


def convolved(
    kernel,
    num_filter,
    stride=(1, 1),
    dilate=(1, 1),
    pad=(0, 0),
    num_group=1,
    num_deformable_group=1,
    no_bias=False,
    masked=False,
    **_,
):
    def oracle(data, offset, *rest):
        mask, rest = (rest[0], rest[1:]) if masked else (None, rest)
        weight, bias = rest[0], np.zeros(num_filter) if no_bias else rest[1]
        out = np.zeros((len(data), num_filter, *offset.shape[2:])) + bias.reshape(-1, 1, 1)
        share, together = data.shape[1] // num_deformable_group, data.shape[1] // num_group
        for n, f, y, x in np.ndindex(*out.shape):
            first = f // (num_filter // num_group) * together
            for c, i, j in np.ndindex(together, *kernel):
                k = ((first + c) // share * kernel[0] + i) * kernel[1] + j
                down, right = offset[n, 2 * k : 2 * k + 2, y, x]
                place = (
                    y * stride[0] + i * dilate[0] - pad[0] + down,
                    x * stride[1] + j * dilate[1] - pad[1] + right,
                )
                seen = (at if masked else at_rim)(data[n, first + c], *place)
                weighed = weight[f, c, i, j] * (mask[n, k, y, x] if masked else 1)
                out[n, f, y, x] += seen * weighed
        return out

    return oracle


def case(data, out, kernel, masked=False, domain="normal", **attrs):
    attrs = {"kernel": kernel, "num_filter": 4, **attrs}
    filters, groups = attrs["num_filter"], attrs.get("num_deformable_group", 1)
    each = groups * kernel[0] * kernel[1]
    weight = (filters, data[1] // attrs.get("num_group", 1), *kernel)
    masks = [(data[0], each, *out)] if masked else []
    biases = [] if attrs.get("no_bias") else [(filters,)]
    shapes = (data, (data[0], 2 * each, *out), *masks, weight, *biases)
    return Case(
        MASKED if masked else PLAIN,
        convolved(**attrs, masked=masked),
        shapes,
        attrs,
        ("normal", domain, *["normal"] * (len(shapes) - 2)),
        steps=64,
        orders=1,
    )


SPREAD = {"stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}
GROUPS = {"num_group": 2, "num_deformable_group": 2}
CASES = [
    case(*shapes, masked=masked, domain=domain, **attrs)
    for masked in (False, True)
    for shapes, domain, attrs in [
        (((2, 2, 4, 5), (3, 3), (2, 3)), "unit", {}),
        (((1, 4, 5, 4), (3, 4), (2, 3)), "normal", {**SPREAD, **GROUPS, "no_bias": True}),
        (((1, 2, 30, 25), (30, 25), (1, 1)), "normal", {"num_filter": 1}),
        (((0, 2, 4, 4), (4, 4), (1, 1)), "unit", {"no_bias": True}),
    ]
]
SIZES = {"kernel": (2, 2), "num_filter": 4, "no_bias": True}
REFUSED = [
    Refused(PLAIN, ("kernel", "2 ints"), None, {"kernel": (3,), "num_filter": 1}),
    Refused(PLAIN, ("layout", "NCW"), None, {**SIZES, "layout": "NCW"}),
    Refused(
        PLAIN,
        ("'offset'", "(1, 8, 4, 4)"),
        ((1, 2, 4, 4), (1, 8, 4, 4), (4, 2, 2, 2)),
        SIZES,
    ),
    Refused(
        MASKED,
        ("'mask'", "(1, 8, 3, 3)"),
        ((1, 2, 4, 4), (1, 8, 3, 3), (1, 8, 3, 3), (4, 2, 2, 2)),
        SIZES,
    ),
    Refused(
        PLAIN,
        ("'data'", "num_deformable_group=3"),
        ((1, 2, 4, 4), (1, 24, 3, 3), (4, 2, 2, 2)),
        {**SIZES, "num_deformable_group": 3},
    ),
]
