"""Steps of optimizers, as MXNet's documentation defines them."""

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


def adam(lr, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0, rescale_grad=1.0, **rest):
    def oracle(w, g, m, v):
        g = clipped(rescale_grad * g + wd * w, **rest)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        return w - lr * m / (np.sqrt(v) + epsilon)

    return oracle


CASES = [
    Case(op, rule(**a), (s,) * n, a, "positive", steps=4)
    for op, rule, n, own in (
        ("sgd_update", sgd, 2, {"lr": 0.1}),
        ("sgd_mom_update", sgd_mom, 3, {"lr": 0.1, "momentum": 0.9}),
        ("adam_update", adam, 4, {"lr": 0.01, "beta1": 0.8, "beta2": 0.99}),
    )
    for s, options in zip(SHAPES, OPTIONS, strict=True)
    for a in [{**own, **options}]
]
