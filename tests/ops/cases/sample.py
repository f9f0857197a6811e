"""Random numbers: only what does not depend on chance; test_random.py tests distributions."""

import numpy as np

from ..case import Case

CASES = [
    Case(op, lambda v=v: np.full((2, 3), v), (), {**a, "shape": (2, 3), "dtype": t}, dtypes=(t,))
    for op, a, v in (
        ("_random_uniform", {"low": 2.0, "high": 2.0}, 2.0),
        ("_random_normal", {"loc": 3.0, "scale": 0.0}, 3.0),
    )
    for t in ("float32", "float64", "float16", "bfloat16")
]
