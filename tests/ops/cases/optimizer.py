"""Steps of gradient descent, as MXNet's documentation defines them.

Weights of other types than float32 with states in float32 are in tests/ops/test_mixed_updates.py.
"""

import numpy as np

from ..case import Case

SHAPES = ((3, 4), (), (0, 2), (1000,))
OPTIONS = [
    {},
    {"wd": 0.1},
    {"rescale_grad": 0.5, "clip_gradient": 0.3},
    {"wd": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.5},
]


def clipped(g, clip_gradient=-1.0, **_):
    return np.clip(g, -clip_gradient, clip_gradient) if clip_gradient >= 0 else g


def sgd(lr, wd=0.0, rescale_grad=1.0, **rest):
    return lambda w, g: (1 - lr * wd) * w - lr * clipped(rescale_grad * g, **rest)


def sgd_mom(lr, momentum=0.0, wd=0.0, rescale_grad=1.0, **rest):
    def oracle(w, g, m):
        return w + momentum * m - lr * wd * w - lr * clipped(rescale_grad * g, **rest)

    return oracle


def nag(lr, momentum=0.0, wd=0.0, rescale_grad=1.0, **rest):
    def oracle(w, g, m):
        g = clipped(rescale_grad * g, **rest) + wd * w
        return w + momentum * (momentum * m - lr * g) - lr * g

    return oracle


def signsgd(lr, wd=0.0, **_):
    return lambda w, g: (1 - lr * wd) * w - lr * np.sign(g)


def signum(lr, momentum=0.0, wd=0.0, rescale_grad=1.0, wd_lh=0.0, **rest):
    def oracle(w, g, m):
        g = clipped(rescale_grad * g, **rest) + wd * w
        return (1 - lr * wd_lh) * w + lr * np.sign(momentum * m - (1 - momentum) * g)

    return oracle


def mixed(rule, copy):
    """The rule where the copy of the weight takes its place; `copy` is its place."""

    def oracle(*inputs):
        others = [x for i, x in enumerate(inputs) if i not in (0, copy)]
        return rule(inputs[copy], *others)

    return oracle


RATE = {"lr": 0.1}
HEAVY = {"lr": 0.1, "momentum": 0.9}
WIDE = ("float32",)
RULES = (
    ("sgd_update", sgd, "", 2, RATE, None),
    ("sgd_mom_update", sgd_mom, "", 3, HEAVY, None),
    ("mp_sgd_update", sgd, "mp", 3, RATE, WIDE),
    ("mp_sgd_mom_update", sgd_mom, "mp", 4, HEAVY, WIDE),
    ("nag_mom_update", nag, "", 3, HEAVY, None),
    ("mp_nag_mom_update", nag, "mp", 4, HEAVY, WIDE),
    ("signsgd_update", signsgd, "", 2, RATE, None),
    ("signum_update", signum, "", 3, {**HEAVY, "wd_lh": 0.2}, None),
)
CASES = [
    Case(op, mixed(rule(**a), n - 1) if mp else rule(**a), (s,) * n, a, dtypes=types, steps=4)
    for op, rule, mp, n, own, types in RULES
    for s, options in zip(SHAPES, OPTIONS, strict=True)
    for a in [{**own, **options}]
]
