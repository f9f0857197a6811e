"""Layers of numbers of eight bits with ranges, against the definitions."""

import itertools

import numpy as np

from ..case import Case, Refused
from .quantize import most

REAL = "float32"


def windows(data, kernel, stride, pad, fill):
    """The windows over the axes behind the second one: images, channels, places, elements."""
    rank = data.ndim - 2
    padded = np.pad(data, [(0, 0), (0, 0), *[(p, p) for p in pad]], constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, kernel, tuple(range(2, rank + 2)))
    steps = tuple(slice(None, None, s) for s in stride)
    return found[(slice(None), slice(None), *steps)]


def pool(kernel, stride, pad=(0, 0), pool_type="max", counted=True):
    def oracle(data, low, high):
        axes = tuple(range(-len(kernel), 0))
        given = windows(data, kernel, stride, pad, np.nan)
        if pool_type == "max":
            return np.nanmax(given, axes), low, high
        count = np.prod(kernel) if counted else (~np.isnan(given)).sum(axes)
        return np.rint(np.nansum(given, axes) / count), low, high

    return oracle


def products(low, high, other_low, other_high, levels):
    r = most(low, high) / levels * most(other_low, other_high) / 127 * 2**31
    return -r, r


def convolution(stride, pad):
    def oracle(data, weight, *rest):
        given = windows(data, weight.shape[2:], stride, pad, 0)
        axes = [1, *range(-(weight.ndim - 2), 0)]
        out = np.moveaxis(np.tensordot(given, weight, (axes, list(range(1, weight.ndim)))), -1, 1)
        if len(rest) > 4:
            out = out + rest[0].reshape(-1, *[1] * (weight.ndim - 2))
            rest = rest[1:]
        return out, *products(*rest[:4], 127)

    return oracle


def connected(flatten, levels):
    def oracle(data, weight, *rest):
        rows = data.reshape(len(data), -1) if flatten else data
        out = rows @ weight.T
        if len(rest) > 4:
            bias, *rest = rest
            step = [
                most(*rest[2 * i : 2 * i + 2]) / n
                for i, n in enumerate((levels + 0.5, 127.5, 127.5))
            ]
            out = out + np.trunc(bias * (step[2] / (step[0] * step[1])))
        return out, *products(*rest[:4], levels)

    return oracle


def layer(op, oracle, shapes, attrs, dtype, **rest):
    n = len(shapes)
    types = (dtype, *["int8"] * (n - 1), *[REAL] * (2 * n))
    made = dtype if op.endswith("pooling") else "int32"
    return Case(
        op,
        oracle,
        (*shapes, *[(1,)] * (2 * n)),
        attrs,
        (*["normal"] * n, *["positive"] * (2 * n)),
        dtypes=(dtype,),
        mixed=types,
        results=(made, REAL, REAL),
        **rest,
    )


CASES = [
    *[
        layer(
            "_contrib_quantized_pooling",
            pool(kernel, stride, pad, kind, counted),
            (shape,),
            {
                "kernel": kernel,
                "stride": stride,
                "pad": pad,
                "pool_type": kind,
                "count_include_pad": counted,
            },
            dtype,
        )
        for (shape, kernel, stride, pad), (kind, counted, dtype) in itertools.product(
            [
                ((2, 3, 5, 4), (2, 2), (2, 1), (1, 0)),
                ((1, 2, 4, 3, 5), (2, 1, 3), (1, 1, 2), (0, 0, 1)),
            ],
            [("max", True, "int8"), ("avg", True, "int8"), ("avg", False, "uint8")],
        )
    ],
    layer(
        "_contrib_quantized_pooling",
        lambda x, low, high: (np.rint(x.mean((2, 3), keepdims=True)), low, high),
        ((2, 3, 3, 4),),
        {"global_pool": True, "pool_type": "avg"},
        "int8",
    ),
    *[
        layer(
            "_contrib_quantized_conv",
            convolution(stride, pad),
            (data, weight, *[(weight[0],)] * bias),
            {
                "kernel": weight[2:],
                "num_filter": weight[0],
                "stride": stride,
                "pad": pad,
                "no_bias": not bias,
            },
            dtype,
        )
        for data, weight, stride, pad, bias, dtype in [
            ((2, 3, 5, 4), (5, 3, 3, 2), (2, 1), (1, 0), True, "uint8"),
            ((1, 4, 3, 3), (6, 4, 1, 1), (1, 1), (0, 0), False, "int8"),
            ((1, 2, 3, 4, 3), (3, 2, 2, 2, 2), (1, 2, 1), (0, 1, 1), False, "uint8"),
        ]
    ],
    *[
        layer(
            "_contrib_quantized_fully_connected",
            connected(flatten, levels),
            (data, weight, *[(weight[0],)] * bias),
            {"num_hidden": weight[0], "flatten": flatten, "no_bias": not bias},
            dtype,
        )
        for data, weight, flatten, bias, dtype, levels in [
            ((3, 2, 5), (7, 10), True, True, "int8", 127),
            ((3, 2, 5), (4, 5), False, False, "uint8", 255),
            ((2, 70), (3, 70), True, True, "uint8", 255),
        ]
    ],
]
REFUSED = [
    Refused(
        "_contrib_quantized_pooling",
        ("'pool_type'", "'sum'"),
        None,
        {"pool_type": "sum", "global_pool": True},
    ),
    Refused(
        "_contrib_quantized_pooling",
        ("4 or 5", "(2, 3, 4)"),
        ((2, 3, 4), (1,), (1,)),
        {"kernel": (2,)},
    ),
    Refused(
        "_contrib_quantized_conv",
        ("'num_group'", "2"),
        None,
        {"num_group": 2, "kernel": (2, 2), "num_filter": 2},
    ),
    Refused(
        "_contrib_quantized_conv", ("'kernel'", "2 or 3"), None, {"kernel": (2,), "num_filter": 2}
    ),
    Refused(
        "_contrib_quantized_fully_connected",
        ("'weight'", "(4, 6)"),
        ((2, 5), (4, 6), *[(1,)] * 4),
        {"num_hidden": 4, "no_bias": True},
    ),
]
