"""Count sketches, written out."""

import numpy as np

from ..case import Case, Refused


def sketch(places):
    def sums(x, h, s):
        out = np.zeros((*x.shape[:-1], places))
        for i, place in enumerate(h[0].astype(int)):
            out[..., place] += x[..., i] * s[0, i]
        return out

    return sums


CASES = [
    Case(
        "_contrib_count_sketch",
        sketch(places),
        (shape, (1, shape[-1]), (1, shape[-1])),
        {"out_dim": places},
        ("normal", f"below{places}", "small"),
        fixed=("h", "s"),
        mixed=(None, table, table),
        steps=4,
    )
    for shape, places, table in [
        ((3, 7), 4, None),
        ((5,), 9, "int32"),
        ((2, 2, 1, 6), 1, "float32"),
        ((0, 3), 2, None),
    ]
]
REFUSED = [
    Refused("_contrib_count_sketch", ("'h'", "(7,)"), ((3, 7), (7,), (1, 7)), {"out_dim": 2}),
    Refused("_contrib_count_sketch", ("out_dim", ">= 1"), None, {"out_dim": 0}),
]
