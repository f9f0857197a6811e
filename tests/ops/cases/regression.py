"""Losses of regression, whose gradient is not that of the output."""

import numpy as np

from ..case import Case, Refused


def logistic(x):
    return 1 / (1 + np.exp(-x))


def case(name, forward, error, shapes, scale):
    def gradient(x, label, head):
        each = max(label.size // max(len(label), 1), 1)
        return error(forward(x) - label.reshape(x.shape)) * scale / each, None

    return Case(
        f"{name}RegressionOutput",
        lambda x, label: forward(x),
        shapes,
        {"grad_scale": scale},
        gradient=gradient,
        orders=1,
    )


CASES = [
    case(name, forward, error, shapes, scale)
    for name, forward, error in [
        ("Linear", lambda x: x, lambda d: d),
        ("MAE", lambda x: x, lambda d: np.where(d > 0, 1.0, -1.0)),
        ("Logistic", logistic, lambda d: d),
    ]
    for shapes, scale in [(((4, 3), (4, 3)), 1.0), (((5, 1), (5,)), 0.5), (((0, 2), (0, 2)), 1.0)]
]
REFUSED = [
    Refused("LinearRegressionOutput", ("'label'", "(4, 2)"), ((4, 3), (4, 2))),
]
