"""Batch normalization, in training and in prediction."""

import numpy as np

from ..case import Case, Refused

REALS = ("float32", "float64")
SHAPES = [((6, 3), 1), ((3, 2, 4, 5), 1), ((2, 3, 4), -1), ((5, 70), 1), ((2, 3, 400), 1)]


def normalized(train, fix_gamma=True, use_global_stats=False, axis=1, eps=1e-3, **_):
    def oracle(x, gamma, beta, moving_mean, moving_var):
        others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)

        def wide(v):
            return np.expand_dims(v, others)

        mean, var = moving_mean, moving_var
        if train and not use_global_stats:
            mean, var = x.mean(others), x.var(others)
        scale = 1.0 if fix_gamma else wide(gamma)
        return scale * (x - wide(mean)) / np.sqrt(wide(var) + eps) + wide(beta)

    return oracle


def with_statistics(x, gamma, beta, moving_mean, moving_var):
    out = normalized(True)(x, gamma, beta, moving_mean, moving_var)
    others = tuple(i for i in range(x.ndim) if i != 1)
    return out, x.mean(others), 1 / np.sqrt(x.var(others) + 1e-3)


DOMAINS = ("normal", "positive", "normal", "normal", "positive")

CASES = [
    Case(
        "BatchNorm",
        normalized(train, **a),
        (shape, *[(shape[axis],)] * 4),
        a,
        DOMAINS,
        dtypes=REALS,
        train=train,
        steps=8,
    )
    for shape, axis in SHAPES
    for train, extra in (
        (True, {}),
        (False, {"fix_gamma": False}),
        (True, {"fix_gamma": False, "eps": 0.01}),
        (True, {"fix_gamma": False, "use_global_stats": True}),
    )
    for a in [{"axis": axis, **extra}]
] + [
    Case(
        "BatchNorm",
        with_statistics,
        ((4, 3, 2), *[(3,)] * 4),
        {"output_mean_var": True},
        DOMAINS,
        dtypes=REALS,
        train=True,
        steps=8,
    ),
    Case(
        "_contrib_SyncBatchNorm",
        lambda *a: (with_statistics(*a)[0], a[0].mean((0, 2)), a[0].var((0, 2))),
        ((4, 3, 2), *[(3,)] * 4),
        {"output_mean_var": True, "key": "a"},
        DOMAINS,
        dtypes=REALS,
        train=True,
        steps=8,
        orders=1,
    ),
    *[
        Case(
            "_contrib_BatchNormWithReLU",
            lambda *a, train=train: np.maximum(normalized(train, fix_gamma=False)(*a), 0),
            ((4, 3, 2), *[(3,)] * 4),
            {"fix_gamma": False},
            DOMAINS,
            dtypes=REALS,
            train=train,
            steps=8,
        )
        for train in (True, False)
    ],
]
REFUSED = [
    Refused(
        "BatchNorm",
        ("'gamma'", "float16", "float32"),
        ((2, 3), *[(3,)] * 4),
        {},
        ("float16",) * 5,
    ),
    Refused("_contrib_SyncBatchNorm", ("key", "required")),
]
