"""Random numbers: only what does not depend on chance; test_random.py tests distributions."""

import numpy as np

from ..case import Case, Refused

FLOATS = ("float32", "float64", "float16", "bfloat16")


def constant(value):
    return lambda *_: np.full((2, 3), value)


FIXED = (
    # A distribution, its parameters, and the one number that they leave.
    ("uniform", {"low": 2.0, "high": 2.0}, 2.0),
    ("normal", {"loc": 3.0, "scale": 0.0}, 3.0),
    ("exponential", {"lam": 1e30}, 0.0),
    ("gamma", {"alpha": 1.0, "beta": 1e-30}, 0.0),
    ("poisson", {"lam": 0.0}, 0.0),
    ("negative_binomial", {"k": 3, "p": 1.0}, 0.0),
    ("negative_binomial", {"k": 0, "p": 0.5}, 0.0),
    ("generalized_negative_binomial", {"mu": 0.0, "alpha": 1.0}, 0.0),
)
CASES = [
    *[
        Case(f"_random_{law}", constant(x), (), {**a, "shape": (2, 3), "dtype": t}, dtypes=(t,))
        for law, a, x in FIXED
        for t in FLOATS
    ],
    *[
        Case(f"_random_{law}_like", constant(x), ((2, 3),), a, fixed=("data",), dtypes=FLOATS)
        for law, a, x in FIXED
    ],
]

ROWS = (
    ("uniform", 2),
    ("normal", 2),
    ("exponential", 1),
    ("gamma", 2),
    ("poisson", 1),
    ("negative_binomial", 2),
    ("generalized_negative_binomial", 2),
)


CASES += [
    # Without a draw: what there is for the way through memory.
    Case(
        f"_sample_{law}",
        lambda *params: np.zeros((*params[0].shape, 0)),
        ((2, 2),) * count,
        {"shape": (0,)},
        "above1",
        results="float32",
    )
    for law, count in ROWS
]
REFUSED = [
    Refused("_random_exponential", ("lam", "positive"), None, {"lam": 0.0}),
    Refused("_random_gamma", ("beta", "positive"), None, {"beta": -1.0}),
    Refused("_random_gamma_like", ("alpha", "positive"), None, {"alpha": float("nan")}),
    Refused("_random_poisson", ("lam", ">= 0"), None, {"lam": -1.0}),
    Refused("_random_negative_binomial", ("'p'", "positive"), None, {"p": 0.0}),
    Refused("_random_negative_binomial", ("'k'", ">= 0"), None, {"k": -1}),
    Refused("_random_generalized_negative_binomial", ("alpha", ">= 0"), None, {"alpha": -1.0}),
    Refused("_sample_gamma", ("'beta'", "(3,)"), ((2,), (3,))),
    Refused("_sample_gamma", ("dtype", "int32"), ((2,), (2,)), {"dtype": "int32"}),
    Refused("_sample_gamma", ("shape", ">= 0"), ((2,), (2,)), {"shape": (-1,)}),
]
