"""Operators on any number of tensors at once; infinities are in tests/ops/test_tensors.py."""

import numpy as np

from ..case import Case

SHAPES = ((3, 4), (), (0, 2), (5000,))


def squares(*arrays):
    return np.array([(a * a).sum() for a in arrays])


def ones(*_):
    return np.ones(1)


FLAGS = {"results": "float32"}
SUMS = {"steps": 4, **FLAGS}
CASES = [
    *[
        Case("multi_sum_sq", squares, SHAPES[:n], {"num_arrays": n}, steps=4, results="float32")
        for n in (1, 2, 4)
    ],
    *[Case("all_finite", ones, (s,), **FLAGS) for s in SHAPES],
    *[
        Case("multi_all_finite", ones, SHAPES[:n], {"num_arrays": n}, results="float32")
        for n in (1, 2, 4)
    ],
    *[Case("reset_arrays", lambda *_: [], SHAPES[:n], {"num_arrays": n}) for n in (1, 4)],
]
