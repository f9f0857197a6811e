"""Elements by indices of several axes, against NumPy's."""

import numpy as np

from ..case import Case, Refused

SOME = ("float32", "float64")


def at(indices):
    return tuple(np.trunc(indices).astype("int64"))


def gathered(data, indices):
    return data[at(indices)]


def scattered(shape):
    def oracle(data, indices):
        out = np.zeros(shape)
        out[at(indices)] = data
        return out

    return oracle


def added(shape):
    def oracle(data, indices):
        out = np.zeros(shape)
        np.add.at(out, at(indices), data)
        return out

    return oracle


def changed(lhs, rhs, indices):
    out = lhs.copy()
    out[at(indices)] = rhs
    return out


def back(data, indices, grad):
    return [grad[at(indices)], None]


def gather(shapes, domain, dtypes=SOME, **rest):
    domains = ("normal", domain)
    return Case(
        "gather_nd", gathered, shapes, {}, domains, dtypes, steps=4, fixed=("indices",), **rest
    )


def scatter(op, oracle, shapes, shape, dtypes=SOME, **rest):
    return Case(
        op,
        oracle(shape),
        shapes,
        {"shape": shape},
        ("normal", "small"),
        dtypes,
        gradient=back,
        steps=4,
        fixed=("indices",),
        **rest,
    )


CASES = [
    gather(((5, 6), (2, 4)), "small", None),
    gather(((5, 6), (1, 4)), "small", None),
    gather(((5, 6, 3), (2, 4, 2)), "small"),
    gather(((5, 5, 5), (3, 1, 2)), "small"),
    gather(((90, 70), (1, 800)), "below90"),
    gather(((5, 6), (2, 0)), "small"),
    gather(((5, 0), (1, 3)), "small"),
    gather(((5, 6), (2, 4)), "normal"),
    *[gather(((5, 6), (2, 4)), "small", ("float64",), mixed=(None, t)) for t in ("int8", "int64")],
    *[
        case
        for op, oracle in (("scatter_nd", scattered), ("_backward_gather_nd", added))
        for case in (
            scatter(op, oracle, ((3,), (2, 3)), (5, 6), None),
            scatter(op, oracle, ((9, 6), (1, 9)), (5, 6)),
            scatter(op, oracle, ((2, 4, 7), (2, 2, 4)), (5, 6, 7)),
            scatter(op, oracle, ((3,), (2, 3)), (5, 6), ("float64",), mixed=(None, "int32")),
            scatter(op, oracle, ((0, 6), (1, 0)), (5, 6)),
            scatter(op, oracle, ((900, 70), (1, 900)), (5, 70)),
        )
    ],
    Case("_scatter_set_nd", changed, ((5, 6), (4,), (2, 4)), {"shape": (5, 6)}, "small"),
    Case("_scatter_set_nd", changed, ((5, 6), (4, 6), (1, 4)), {"shape": (5, 6)}, "small", SOME),
]
REFUSED = [
    Refused("gather_nd", ("'indices'", "(2,)", "2 dimensions"), ((5, 6), (2,))),
    Refused("gather_nd", ("'indices'", "(3, 4)", "2 axes"), ((5, 6), (3, 4))),
    Refused("scatter_nd", ("'data'", "(2, 4)", "(2, 3)"), ((2, 4), (1, 2)), {"shape": (5, 3)}),
    Refused("scatter_nd", ("'indices'", "(3, 4)", "2 axes"), ((4,), (3, 4)), {"shape": (5, 6)}),
    Refused("scatter_nd", ("shape", "required")),
    Refused("scatter_nd", ("shape", "negative"), ((4,), (1, 4)), {"shape": (-1,)}),
    Refused("_scatter_set_nd", ("'lhs'", "(5,)"), ((5,), (4,), (1, 4)), {"shape": (6,)}),
    Refused(
        "_scatter_set_nd",
        ("'rhs'", "int32"),
        ((6,), (4,), (1, 4)),
        {"shape": (6,)},
        ("float32", "int32", "int32"),
    ),
]
