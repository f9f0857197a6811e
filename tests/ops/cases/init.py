"""Operators that make tensors."""

import numpy as np

from ..case import Case, of_any_shape

RANGES = [
    ({"start": 5.0}, np.arange(5)),
    ({"start": 1.0, "stop": 6.0, "step": 2.0, "repeat": 2}, [1, 1, 3, 3, 5, 5]),
    ({"start": 2.0, "stop": 3.0, "step": 0.25}, [2, 2.25, 2.5, 2.75]),
    ({"start": 3.0, "stop": 0.0, "step": -1.0}, [3, 2, 1]),
    ({"start": 3.0, "stop": 3.0}, np.zeros(0)),
]
TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64")


def constant(op, filled, shape, dtype, **attrs):
    attrs = {"shape": shape, "dtype": dtype, **attrs}
    return Case(op, lambda: np.full(shape, filled), (), attrs, dtypes=(dtype,))


CASES = [
    *[constant("_zeros", 0, (2, 3), t) for t in (*TYPES, "bool")],
    *[constant("_ones", 1, (2, 3), t) for t in (*TYPES, "bool")],
    *[constant("_full", 7, (2, 3), t, value=7.0) for t in TYPES],
    *[constant("_full", 2.5, s, "float32", value=2.5) for s in ((), (0, 3), (1,), (2, 3, 4))],
    *[
        Case("_arange", lambda v=v: np.asarray(v), (), {**a, "dtype": t}, dtypes=(t,))
        for a, v in RANGES
        for t in TYPES
    ],
    *of_any_shape("zeros_like", np.zeros_like, "normal"),
    *of_any_shape("ones_like", np.ones_like, "normal"),
]
