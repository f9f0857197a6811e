"""Choices between two tensors."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


def where(condition, x, y):
    if condition.ndim < x.ndim:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return np.where(condition != 0, x, y)


CASES = [
    Case("where", where, ((3, 4),) * 3, {}, ("small", "normal", "normal")),
    Case("where", where, ((3,), (3, 4, 2), (3, 4, 2)), {}, ("small", "normal", "normal")),
    *[
        Case("where", where, (shape,) * 3, {}, ("small", "normal", "normal"), SOME)
        for shape in ((), (1,), (700,), (0, 3), (2, 0, 4))
    ],
    Case("where", where, ((0,), (0, 3), (0, 3)), {}, ("small", "normal", "normal"), SOME),
]
