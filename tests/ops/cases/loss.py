"""The root of a backward pass, whose gradient is a constant, and the cross entropy."""

import numpy as np
from scipy import special

from ..case import Case, Refused


def constant(grad_scale=1.0, valid_thresh=0.0, normalization="null"):
    def gradient(x, _):
        n = {
            "null": 1,
            "batch": max(1, np.prod(x.shape[:-1])),
            "valid": max(1, (x > valid_thresh).sum()),
        }[normalization]
        return [np.full(x.shape, grad_scale / n)]

    return gradient


OPTIONS = (
    {},
    {"grad_scale": 3.0},
    {"grad_scale": 0.5, "normalization": "batch"},
    {"normalization": "valid"},
    {"grad_scale": 2.0, "normalization": "valid", "valid_thresh": 0.5},
    {"normalization": "valid", "valid_thresh": 100.0},
)
SHAPES = ((3, 4), (5,), (2, 3, 2), (), (0, 2), (2000, 50))
CASES = [
    Case("MakeLoss", lambda x: x, (s,), options, gradient=constant(**options))
    for s in SHAPES
    for options in OPTIONS
]


def cross_entropy(x, label):
    rows = np.arange(len(x))
    return -special.log_softmax(x, -1)[rows, label.astype(int)].sum().reshape(1)


CASES += [
    Case(
        "softmax_cross_entropy",
        cross_entropy,
        ((rows, classes), (rows,)),
        domain=("normal", f"below{classes}"),
        fixed=("label",),
        steps=4 * rows,
    )
    for rows, classes in ((5, 4), (1, 1), (0, 3), (40, 9))
]

REFUSED = [Refused("softmax_cross_entropy", ("label", "(3,)", "(2,)"), ((2, 3), (3,)))]
