"""Comparison of whole tensors."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


CASES = [
    *[
        Case(
            "_contrib_allclose",
            lambda a, b, t=atol: np.allclose(a, b, 1e-5, t),
            (shape, shape),
            {"atol": atol},
            "small",
            None if shape == (3, 4) else SOME,
            results="uint8",
        )
        for shape in ((3, 4), (), (0, 3), (2, 20_000))
        for atol in (0.0, 2.0, 6.0)
    ],
    *[
        Case(
            "_contrib_allclose",
            lambda a, b, r=rtol: np.allclose(a, b, r, 0.0),
            ((5,), (5,)),
            {"rtol": rtol, "atol": 0.0},
            "positive",
            SOME,
            results="uint8",
        )
        for rtol in (0.1, 9.0)
    ],
]
