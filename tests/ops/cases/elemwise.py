"""Unary operators, casts, sums of several inputs, identities."""

import numpy as np

from ..case import Case, of_any_shape

KINKED = [
    ("negative", lambda x: -x, "normal"),
    ("abs", np.abs, "distinct"),
    ("square", lambda x: x * x, "normal"),
    ("relu", lambda x: np.maximum(x, 0), "distinct"),
    ("sign", np.sign, "small"),
    ("logical_not", lambda x: x == 0, "small"),
    ("floor", np.floor, "halves"),
    ("ceil", np.ceil, "halves"),
    ("trunc", np.trunc, "halves"),
    ("round", lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "halves"),
    ("rint", lambda x: np.ceil(x - 0.5), "halves"),
]


def clipped(x):
    return np.minimum(np.maximum(x, -1), 1.5)


def cast(source, target, domain="small"):
    def oracle(x):
        return x

    return Case("Cast", oracle, ((3, 4),), {"dtype": target}, domain, (source,))


TYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "uint8",
    "int8",
    "int32",
    "int64",
    "bool",
)

CASES = [
    *[c for row in KINKED for c in of_any_shape(*row)],
    *of_any_shape("_copy", lambda x: x, "normal"),
    *of_any_shape("BlockGrad", lambda x: x, "normal"),
    *of_any_shape("make_loss", lambda x: x, "normal", gradient=lambda x, g: (np.ones_like(x),)),
    *of_any_shape(
        "_contrib_gradientmultiplier",
        lambda x: x,
        "normal",
        attrs={"scalar": -2.5},
        gradient=lambda x, g: (-2.5 * g,),
    ),
    *[
        c
        for op, oracle in (
            ("_contrib_round_ste", lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
            ("_contrib_sign_ste", np.sign),
        )
        for c in of_any_shape(op, oracle, "halves", gradient=lambda x, g: (g,))
    ],
    *of_any_shape("clip", clipped, "distinct", attrs={"a_min": -1.0, "a_max": 1.5}),
    Case("clip", lambda x: np.clip(x, 1, 3), ((3, 4),), {"a_min": 1, "a_max": 3}, "distinct"),
    *[cast(a, b, "below5" if "uint8" in (a, b) else "small") for a in TYPES for b in TYPES],
    cast("float32", "int32", "halves"),
    cast("float64", "float32", "normal"),
    *[
        Case("add_n", lambda *x: sum(x), ((3, 4),) * n, {"num_args": n}, "small")
        for n in range(1, 5)
    ],
    Case("add_n", lambda *x: sum(x), ((),) * 3, {"num_args": 3}, dtypes=("float32", "float64")),
    Case("add_n", lambda *x: sum(x), ((0, 2),) * 2, {"num_args": 2}, dtypes=("float32",)),
]
