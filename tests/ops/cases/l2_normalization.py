"""Division by norms."""

import numpy as np

from ..case import Case

AXES = {
    "instance": lambda n: tuple(range(1, n)),
    "channel": lambda n: (1,),
    "spatial": lambda n: tuple(range(2, n)),
}


def normalized(mode, eps=1e-10):
    def oracle(x):
        squares = (x * x).sum(AXES[mode](x.ndim), keepdims=True)
        return x / np.sqrt(squares + eps)

    return oracle


CASES = [
    *[
        Case("L2Normalization", normalized(m), (s,), {"mode": m}, "distinct", steps=6)
        for m, s in [
            ("instance", (2, 3)),
            ("instance", (2, 3, 2)),
            ("instance", (3,)),
            ("channel", (2, 3, 2)),
            ("channel", (2, 3, 2, 2)),
            ("spatial", (2, 3, 2, 2)),
        ]
    ],
    Case("L2Normalization", normalized("instance", 0.5), ((4, 3),), {"eps": 0.5}, steps=6),
    Case("L2Normalization", normalized("instance"), ((0, 3),), dtypes=("float32", "float64")),
]
