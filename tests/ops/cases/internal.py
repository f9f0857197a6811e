"""Operators behind MXNet's own front."""

import numpy as np

from ..case import Case, Refused

CASES = [
    Case("_identity_with_attr_like_rhs", lambda a, b: a, ((2, 3), (2, 3)), fixed=("rhs",)),
    Case(
        "_rnn_param_concat",
        lambda *parts: np.concatenate(parts),
        ((3,), (2,)),
        {"num_args": 2, "dim": 0},
    ),
    Case("_square_sum", lambda x: (x * x).sum(1), ((3, 4),), {"axis": 1}, steps=8),
    Case("_square_sum", lambda x: (x * x).sum().reshape(1), ((3, 4),), {}, steps=16),
    Case(
        "_zeros_without_dtype", lambda: np.zeros((2, 3)), (), {"shape": (2, 3)}, dtypes=("float32",)
    ),
    Case(
        "_scatter_plus_scalar", lambda x: x + 2, ((2, 3),), {"scalar": 2}, results={"bool": "int64"}
    ),
    Case(
        "_scatter_minus_scalar",
        lambda x: x - 2,
        ((2, 3),),
        {"scalar": 2},
        results={"bool": "int64"},
    ),
    Case("_scatter_elemwise_div", lambda a, b: a / b, ((2, 3), (2, 3)), {}, ("normal", "positive")),
]
REFUSED = [
    Refused("_identity_with_attr_like_rhs", ("'rhs'", "(3, 3)", "(2, 3)"), ((2, 3), (3, 3))),
]
