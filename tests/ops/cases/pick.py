"""An element of each line, against NumPy's."""

import numpy as np

from ..case import Case, Refused

SOME = ("float32", "float64")


def place(indices, extent, mode):
    indices = np.trunc(indices).astype("int64")
    return indices % extent if mode == "wrap" else np.clip(indices, 0, extent - 1)


def picked(axis=-1, keepdims=False, mode="clip"):
    def oracle(data, index):
        if data.size == 0:
            return np.zeros(index.shape)
        kept = list(data.shape)
        kept[axis] = 1
        found = place(index.reshape(kept), data.shape[axis], mode)
        out = np.take_along_axis(data, found, axis)
        return out if keepdims else out.squeeze(axis)

    return oracle


def batch_take(a, indices):
    rows = a.reshape(-1, a.shape[-1])
    chosen = place(indices.reshape(-1), a.shape[-1], "clip")
    return rows[np.arange(len(rows)), chosen].reshape(indices.shape)


def filled(lhs, mhs, rhs):
    out, columns = lhs.copy(), np.trunc(rhs).astype("int64")
    inside = (columns >= 0) & (columns < lhs.shape[1])
    out[np.arange(len(out))[inside], columns[inside]] = mhs[inside]
    return out


def pick(shapes, attrs, dtypes=SOME, domain="small", **rest):
    domains = ("normal", domain)
    return Case("pick", picked(**attrs), shapes, attrs, domains, dtypes, fixed=("index",), **rest)


def batch(shapes, dtypes=SOME):
    return Case(
        "batch_take",
        batch_take,
        shapes,
        {},
        ("normal", "small"),
        dtypes,
        fixed=("indices",),
        mixed=(None, "int32"),
    )


CASES = [
    pick(((3, 4), (3,)), {}, None),
    pick(((3, 4), (3, 1)), {"mode": "wrap"}, None, "normal"),
    pick(((3, 4), (4,)), {"axis": 0, "keepdims": True}),
    pick(((3, 4), (1, 4)), {"axis": 0, "mode": "wrap"}),
    pick(((2, 3, 4), (2, 4)), {"axis": 1}),
    pick(((2, 3, 4), (2, 4)), {"axis": -2, "keepdims": True}),
    pick(((5,), ()), {}),
    pick(((5,), (1,)), {"keepdims": True}),
    pick(((300, 90), (300,)), {}, domain="below90"),
    pick(((40, 5, 700), (40, 700)), {"axis": 1}),
    pick(((0, 3), (0,)), {}),
    pick(((3, 0, 2), (3, 0)), {"axis": 2}),
    *[pick(((3, 4), (3,)), {}, ("float64",), mixed=(None, t)) for t in ("uint8", "int64", "bool")],
    batch(((3, 4), (3,)), None),
    batch(((2, 3, 4), (2, 3))),
    batch(((2, 3, 4), (6, 1))),
    *[
        Case("fill_element_0index", filled, ((3, 4), (3,), (3,)), {}, ("normal", "normal", d))
        for d in ("below6", "small")
    ],
    Case("fill_element_0index", filled, ((0, 4), (0,), (0,)), {}, "normal", SOME),
    Case("fill_element_0index", filled, ((3, 0), (3,), (3,)), {}, "normal", SOME),
    Case(
        "fill_element_0index",
        filled,
        ((3, 4), (3,), (3,)),
        {},
        ("normal", "normal", "below4"),
        SOME,
        mixed=(None, None, "int32"),
    ),
]
REFUSED = [
    Refused("pick", ("'index'", "(4,)", "(3,)"), ((3, 4), (4,))),
    Refused("pick", ("'index'", "()"), ((3, 4), ())),
    Refused("pick", ("axis", "None"), ((3, 4), (3,)), {"axis": None}),
    Refused("pick", ("axis 2",), ((3, 4), (3,)), {"axis": 2}),
    Refused("pick", ("'data'", "nothing along axis 1"), ((3, 0), (3,))),
    Refused("pick", ("mode", "'wrap'", "'raise'"), None, {"mode": "raise"}),
    Refused("batch_take", ("'a'", "2 dimensions"), ((3,), (3,))),
    Refused("batch_take", ("'indices'", "(2,)", "expected 3"), ((3, 4), (2,))),
    Refused("batch_take", ("'a'", "empty rows"), ((3, 0), (3,))),
    Refused("fill_element_0index", ("'lhs'", "(2, 2, 2)"), ((2, 2, 2), (2,), (2,))),
    Refused("fill_element_0index", ("'rhs'", "(3,)"), ((2, 2), (2,), (3,))),
    Refused(
        "fill_element_0index",
        ("'mhs'", "int32", "float32"),
        ((2, 2), (2,), (2,)),
        {},
        ("float32", "int32", "int32"),
    ),
]
