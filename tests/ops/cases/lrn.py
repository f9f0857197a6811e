"""Local response normalization, written out."""

import numpy as np

from ..case import Case, Refused


def lrn(nsize, alpha=1e-4, beta=0.75, knorm=2.0):
    def oracle(x):
        near, channels = (nsize - 1) // 2, x.shape[1]
        squares = np.stack(
            [(x[:, max(0, c - near) : c + near + 1] ** 2).sum(1) for c in range(channels)],
            axis=1,
        )
        return x / (knorm + alpha / nsize * squares) ** beta

    return oracle


CASES = [
    Case("LRN", lrn(**a), (shape,), a, steps=16, orders=1)
    for shape, a in [
        ((2, 6, 3, 2), {"nsize": 3}),
        ((2, 6, 3, 2), {"nsize": 5, "alpha": 1.0, "beta": 0.6, "knorm": 1.0}),
        ((2, 3, 300), {"nsize": 3, "alpha": 0.5}),
        ((2, 7), {"nsize": 4, "alpha": 0.5}),
        ((2, 3, 2), {"nsize": 9, "alpha": 2.0}),
        ((2, 3, 0), {"nsize": 3}),
    ]
]
REFUSED = [
    Refused("LRN", ("'data'", "(3,)"), ((3,),), {"nsize": 3}),
    Refused("LRN", ("nsize", "required")),
    Refused("LRN", ("nsize", "0"), None, {"nsize": 0}),
]
