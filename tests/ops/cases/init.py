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
LINES = [
    ({"start": 0.0, "stop": 8.0, "num": 5}, [0, 2, 4, 6, 8]),
    ({"start": 0.0, "stop": 8.0, "num": 4, "endpoint": False}, [0, 2, 4, 6]),
    ({"start": 3.0, "stop": 1.0, "num": 3}, [3, 2, 1]),
    ({"start": 3.0, "stop": 9.0, "num": 1}, [3]),
    ({"start": 3.0, "stop": 9.0, "num": 0}, np.zeros(0)),
]
SOME = ("float32", "float64")


def like(start=0.0, step=1.0, repeat=1, axis=None):
    def oracle(x):
        count = x.size if axis is None else x.shape[axis]
        numbers = start + np.arange(count) // repeat * step
        return numbers.reshape(x.shape) if axis is None else numbers

    return oracle


def indices(axes=None):
    def oracle(x):
        grid = np.moveaxis(np.indices(x.shape), 0, -1)
        return grid if axes is None else grid[..., [a % x.ndim for a in axes]]

    return oracle


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
    *[
        Case("_linspace", lambda v=v: np.asarray(v), (), {**a, "dtype": t}, dtypes=(t,))
        for a, v in LINES
        for t in TYPES
    ],
    *[
        Case(
            "_eye",
            lambda n=n, m=m, k=k: np.eye(n, m or n, k),
            (),
            {"N": n, "M": m, "k": k, "dtype": t},
            dtypes=(t,),
        )
        for n, m, k in ((3, 0, 0), (2, 4, 1), (4, 2, -1), (3, 3, 7), (0, 0, 0), (70, 20, -3))
        for t in (TYPES if n == 2 else ("float32",))
    ],
    *[
        Case("_contrib_arange_like", like(**a), (s,), a, dtypes=TYPES if s == (2, 3) else SOME)
        for s, a in (
            ((2, 3), {}),
            ((2, 3), {"start": 2.0, "step": -1.0, "repeat": 2}),
            ((2, 3, 4), {"axis": -1, "step": 2.0}),
            ((2, 3, 4), {"axis": 1}),
            ((0, 3), {}),
            ((), {"start": 4.0}),
        )
    ],
    *[
        Case("_contrib_index_array", indices(**a), (s,), a, dtypes=t, results="int64")
        for s, a, t in (
            ((2, 3), {}, (*TYPES, "bool")),
            ((2, 3, 4), {"axes": (2, 0)}, SOME),
            ((2, 3, 4), {"axes": (-2,)}, SOME),
            ((5,), {}, SOME),
            ((2, 0), {}, SOME),
            ((2, 3), {"axes": ()}, SOME),
        )
    ],
    *of_any_shape("zeros_like", np.zeros_like, "normal"),
    *of_any_shape("ones_like", np.ones_like, "normal"),
]
