"""Padding."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")
WIDTHS = [
    ((1, 2, 3, 4), (0, 0, 0, 0, 1, 2, 3, 1)),
    ((2, 3), (1, 0, 0, 2)),
    ((1, 1, 2, 3, 4), (0, 0, 0, 0, 1, 1, 2, 0, 3, 3)),
    ((5,), (4, 4)),
    ((2, 3), (0, 0, 0, 0)),
    ((), ()),
]


def padded(mode, widths, value=0.0):
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    extra = {"constant_values": value} if mode == "constant" else {}
    return lambda x: np.pad(x, pairs, mode, **extra) if pairs else x


def row(mode, shape, widths, dtypes, value=0.0):
    attrs = {"mode": mode, "pad_width": widths, "constant_value": value}
    return Case("Pad", padded(mode, widths, value), (shape,), attrs, dtypes=dtypes, steps=3)


CASES = [
    *[
        row(mode, s, w, None if len(s) == 4 else SOME)
        for mode in ("constant", "edge", "reflect")
        for s, w in WIDTHS
    ],
    row("constant", (2, 3), (1, 1, 2, 0), SOME, 7.5),
    row("constant", (0, 2), (1, 1, 0, 1), SOME, -1.0),
    row("edge", (1, 2), (3, 3, 0, 0), SOME),
]
