"""Functions of numbers of eight bits with ranges, against the definitions."""

import numpy as np

from ..case import Case, Refused
from .quantize import GIVEN, LEVELS, most, whole

REAL = "float32"
SPREAD = {"max_calib_range": 40.0, "min_calib_range": -4.0}


def step(low, high, dtype):
    return most(low, high) / LEVELS[dtype]


def add(types, given):
    def oracle(a, b, a_low, a_high, b_low, b_high):
        real = a * step(a_low, a_high, types[0]) + b * step(b_low, b_high, types[1])
        r = most(a_low, a_high) + most(b_low, b_high)
        if not given:
            return np.rint(real * (2**31 / r)), -r, r
        dtype = "int8" if "int8" in types else "uint8"
        low, high = given["min_calib_range"], given["max_calib_range"]
        return whole(real / step(low, high, dtype), dtype), [low], [high]

    return oracle


def multiply(given):
    def oracle(a, b, a_low, a_high, b_low, b_high):
        real = a * b * step(a_low, a_high, "int8") * step(b_low, b_high, "int8")
        if given.get("enable_float_output"):
            return real
        if given:
            low, high = given["min_calib_range"], given["max_calib_range"]
            return np.trunc(real / step(low, high, "int8")), [low], [high]
        r = most(a_low, a_high) * most(b_low, b_high) / 127**2 * 2**31
        return a * b, -r, r

    return oracle


def concat(types, dim):
    def oracle(*given):
        n = len(types)
        ends = given[n:]
        low, high = min(ends[::2]), max(ends[1::2])
        made = "int8" if "int8" in types else "uint8"
        scales = [step(*ends[2 * i : 2 * i + 2], t) for i, t in enumerate(types)]
        unit = step(low, high, made)
        rows = zip(given[:n], scales, strict=True)
        return np.concatenate([whole(x * (s / unit), made) for x, s in rows], dim), low, high

    return oracle


def norm(data, gamma, beta, mean, var, low, high, dtype="int8"):
    def spread(x):
        return x.reshape(-1, *[1] * (data.ndim - 2))

    data = whole(data * (127.5 / LEVELS[dtype]))
    real = data * step(low, high, "int8") / np.sqrt(1 + 1e-3) - spread(mean)
    found = real / np.sqrt(spread(var) + 1e-3) * spread(gamma) + spread(beta)
    return whole(found / step(-4.0, 40.0, "int8")), [-4.0], [40.0]


RANGED = {"mixed": (None, REAL, REAL), "results": (None, REAL, REAL)}
PAIR = ((3, 5), (3, 5), (1,), (1,), (1,), (1,))
TABLE = {"input_dim": 4, "output_dim": 3}
CASES = [
    Case(
        "_contrib_quantized_act",
        lambda x, low, high: (np.maximum(x, 0), low, high),
        ((3, 5), (1,), (1,)),
        {"act_type": "relu"},
        **RANGED,
    ),
    *[
        Case(
            "_contrib_quantized_flatten",
            lambda x, low, high: (x.reshape(len(x), -1), low, high),
            (shape, (1,), (1,)),
            **RANGED,
        )
        for shape in ((2, 3, 4), (3,))
    ],
    *[
        Case(
            "_contrib_quantized_elemwise_add",
            add(types, given),
            PAIR,
            given,
            dtypes=types[:1],
            mixed=(*types, *[REAL] * 4),
            results=(made, REAL, REAL),
        )
        for types, given, made in [
            (("int8", "int8"), SPREAD, "int8"),
            (("uint8", "int8"), SPREAD, "int8"),
            (("uint8", "uint8"), GIVEN, "uint8"),
        ]
    ],
    *[
        Case(
            "_contrib_quantized_elemwise_mul",
            multiply(given),
            PAIR,
            given,
            mixed=(None, None, *[REAL] * 4),
            results=results,
        )
        for given, results in [
            ({}, ("int32", REAL, REAL)),
            (GIVEN, ("int8", REAL, REAL)),
            ({"enable_float_output": True}, (REAL,)),
        ]
    ],
    *[
        Case(
            "_contrib_quantized_concat",
            concat(types, dim),
            (*shapes, *[(1,)] * 4),
            {"num_args": 2, "dim": dim},
            dtypes=types[:1],
            mixed=(*types, *[REAL] * 4),
            results=(made, REAL, REAL),
        )
        for types, dim, shapes, made in [
            (("int8", "int8"), 1, ((2, 3, 2), (2, 1, 2)), "int8"),
            (("uint8", "int8"), 0, ((2, 3), (1, 3)), "int8"),
            (("uint8", "uint8"), -1, ((2, 3), (2, 2)), "uint8"),
        ]
    ],
    Case(
        "_contrib_quantized_embedding",
        lambda i, table, low, high: (table[i.astype(int)], low, high),
        ((2, 5), (4, 3), (1,), (1,)),
        TABLE,
        ("below4", "normal", "normal", "normal"),
        mixed=(REAL, None, REAL, REAL),
        results=(None, REAL, REAL),
    ),
    *[
        Case(
            "_contrib_quantized_batch_norm",
            lambda *x, t=t: norm(*x, dtype=t),
            (shape, *[(3,)] * 4, (1,), (1,)),
            SPREAD,
            (*["normal"] * 4, "positive", "normal", "normal"),
            dtypes=(t,),
            mixed=(None, *[REAL] * 6),
            results=("int8", REAL, REAL),
        )
        for t, shape in (("int8", (2, 3, 2, 2)), ("uint8", (4, 3)))
    ],
]
REFUSED = [
    Refused("_contrib_quantized_act", ("'relu'", "'tanh'"), None, {"act_type": "tanh"}),
    Refused("_contrib_quantized_elemwise_add", ("'rhs'", "(5,)"), ((3,), (5,), *[(1,)] * 4)),
    Refused("_contrib_quantized_batch_norm", ("'min_calib_range'",)),
    Refused("_contrib_quantized_batch_norm", ("'axis'", "2"), None, {**GIVEN, "axis": 2}),
]
