"""The fully connected layer."""

from ..case import Case

ROWS = [
    ((3, 5), 5, True),
    ((2, 3, 4), 12, True),
    ((2, 3, 4), 4, False),
    ((5,), 5, False),
    ((0, 3), 3, True),
    ((2, 0), 0, True),
    ((70, 130), 130, True),
]


def layer(flatten):
    def oracle(x, w, b=0.0):
        rows = x.reshape(len(x), -1) if flatten and x.size else x
        return rows @ w.T + b

    return oracle


CASES = [
    Case(
        "FullyConnected",
        layer(flatten),
        (shape, (4, k)) if no_bias else (shape, (4, k), (4,)),
        {"num_hidden": 4, "flatten": flatten, "no_bias": no_bias},
        steps=10,
    )
    for shape, k, flatten in ROWS
    for no_bias in (False, True)
]
