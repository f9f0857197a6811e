"""Activation functions."""

import numpy as np
from scipy import special

from ..case import Case, of_any_shape

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": special.expit,
    "softrelu": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanh": np.tanh,
}


def leaky(x, slope=0.25):
    return np.where(x > 0, x, slope * x)


def elu(x, slope=0.25):
    return np.where(x > 0, x, slope * np.expm1(x))


def selu(x):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def gelu(x):
    return x / 2 * (1 + special.erf(x / np.sqrt(2)))


def prelu(x, gamma):
    if gamma.size == 1:
        return leaky(x, gamma)
    return leaky(x, gamma.reshape(-1, *[1] * max(0, x.ndim - 2)))


def rrelu(x):
    """In prediction: one slope for all, between both bounds."""
    slope = np.where(x > 0, 1, (0.125 + 0.334) / 2)
    return x * slope, slope


CASES = [
    Case("LeakyReLU", rrelu, ((3, 4),), {"act_type": "rrelu"}, "distinct", steps=2),
    *[
        c
        for word, oracle in FUNCTIONS.items()
        for c in of_any_shape("Activation", oracle, "distinct", attrs={"act_type": word}, steps=2)
    ],
    *[
        c
        for attrs, oracle in (
            ({"act_type": "leaky"}, leaky),
            ({"act_type": "leaky", "slope": 0.1}, lambda x: leaky(x, 0.1)),
            ({"act_type": "elu"}, elu),
            ({"act_type": "elu", "slope": 0.1}, lambda x: elu(x, 0.1)),
            ({"act_type": "selu"}, selu),
            ({"act_type": "gelu"}, gelu),
        )
        for c in of_any_shape("LeakyReLU", oracle, "distinct", attrs=attrs, steps=2)
    ],
    *[
        Case("LeakyReLU", prelu, shapes, {"act_type": "prelu"}, "distinct", steps=2)
        for shapes in (
            ((2, 3, 5), (3,)),
            ((2, 3, 5), (1,)),
            ((4, 3), (3,)),
            ((5,), (1,)),
            ((2, 3, 4, 5), (3,)),
            ((0, 3), (3,)),
        )
    ],
]
