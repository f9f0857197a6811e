"""Mean and variance."""

from ..case import Case

ROWS = [
    ((2, 3, 4), {"axes": (1,)}),
    ((2, 3, 4), {"axes": (0, -1), "keepdims": True}),
    ((2, 3, 4), {}),
    ((40, 70), {"axes": (0,)}),
    ((3,), {"axes": (0,)}),
]


def moments(axes=None, keepdims=False):
    def oracle(x):
        over = axes or tuple(range(x.ndim))
        out = [f(axis=over, keepdims=keepdims) for f in (x.mean, x.var)]
        return [o.reshape(1) if o.ndim == 0 else o for o in out]

    return oracle


FLOATS = ("float32", "float64", "float16", "bfloat16")


def whole(x):
    """The moments of integers, cut to integers at each step."""
    mean = (x.sum(1, keepdims=True) / x.shape[1]).astype("int64")
    return [mean[:, 0], ((x - mean) ** 2).sum(1) // x.shape[1]]


CASES = [
    *[Case("moments", moments(**a), (s,), a, "halves", FLOATS, steps=8, heads=2) for s, a in ROWS],
    Case(
        "moments",
        whole,
        ((3, 5),),
        {"axes": (1,)},
        "positive",
        ("uint8", "int8", "int32", "int64"),
    ),
]
