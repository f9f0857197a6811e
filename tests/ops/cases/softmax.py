"""Softmax, softmin and the logarithm; lengths and other types are in test_softmax.py."""

from scipy import special

from ..case import Case, Refused

ROWS = [
    ((3, 4), {}),
    ((2, 3, 4), {"axis": 1}),
    ((2, 3, 4), {"axis": 0, "temperature": 0.7}),
    ((2, 3, 4), {"axis": -2}),
    ((5,), {}),
    ((0, 3), {}),
    ((3, 1), {}),
    ((4, 1000), {}),
    ((3, 70, 90), {"axis": 1}),
]


def along(function, axis=-1, temperature=1.0):
    return lambda x: function(x / temperature, axis=axis)


CASES = [
    Case(op, along(function, **a), (shape,), a, steps=4)
    for op, function in (
        ("softmax", special.softmax),
        ("softmin", lambda x, axis: special.softmax(-x, axis)),
        ("log_softmax", special.log_softmax),
    )
    for shape, a in ROWS
]
CASES += [
    Case("SoftmaxActivation", along(special.softmax, axis), (shape,), a, steps=4)
    for shape, axis, a in [
        ((3, 4), -1, {}),
        ((2, 3, 4), -1, {"mode": "instance"}),
        ((2, 3, 4, 2), 1, {"mode": "channel"}),
    ]
]
LENGTHS = {"use_length": True}
REFUSED = [
    Refused("SoftmaxActivation", ("(3, 4)", "mode=channel"), ((3, 4),), {"mode": "channel"}),
    Refused("softmax", ("'data'", "int32", "float32"), ((3, 4),), {}, ("int32",)),
    Refused("softmax", ("'data'", "int32"), ((3, 4), (3,)), LENGTHS, ("int32", "int32")),
    Refused("softmax", ("'length'", "float32"), ((3, 4), (3,)), LENGTHS),
    Refused("softmax", ("int8", "float32"), ((3, 4),), {"dtype": "int8"}),
]
