"""Elements in order, against NumPy's stable sorts."""

import numpy as np

from ..case import Case, Refused

SOME = ("float32", "float64")


def order(x, axis, is_ascend):
    x = x.reshape(-1) if axis is None else x
    return np.argsort(x if is_ascend else -x, 0 if axis is None else axis, kind="stable")


def values(x, places, axis):
    x = x.reshape(-1) if axis is None else x
    return np.take_along_axis(x, places, 0 if axis is None else axis)


def sort(axis=-1, is_ascend=True):
    return lambda x: values(x, order(x, axis, is_ascend), axis)


def argsort(axis=-1, is_ascend=True, dtype="float32"):
    return lambda x: order(x, axis, is_ascend)


def topk(axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    def oracle(x):
        places = order(x, axis, is_ascend)
        along = 0 if axis is None else axis
        places = np.take(places, range(k if k > 0 else places.shape[along]), along)
        if ret_typ == "mask":
            mask = np.zeros(x.size if axis is None else x.shape)
            np.put_along_axis(mask, places, 1, along)
            return mask.reshape(x.shape)
        both = {"value": values(x, places, axis), "indices": places}
        return both.get(ret_typ, tuple(both.values()))

    return oracle


LINES = [
    ((7,), {}),
    ((3, 5), {"is_ascend": False}),
    ((3, 5), {"axis": 0}),
    ((2, 4, 3), {"axis": 1, "is_ascend": False}),
    ((3, 4), {"axis": None}),
    ((3, 4), {"axis": None, "is_ascend": False}),
    ((200, 300), {}),
    ((300, 200), {"axis": 0}),
    ((70000,), {"is_ascend": False}),
    ((0, 3), {}),
    ((3, 0), {}),
    ((), {"axis": None}),
]
TYPES = {"value": (None,), "mask": (None,), "both": (None, "float32"), "indices": ("float32",)}


def types(shape):
    """Every type for small shapes."""
    return None if 0 < np.prod(shape) < 30 else SOME


def firsts(shape, attrs, kind, domain, **rest):
    attrs = {**attrs, "ret_typ": kind}
    return Case(
        "topk",
        topk(**attrs),
        (shape,),
        attrs,
        domain,
        types(shape),
        results=rest.pop("results", TYPES[kind]),
        smooth=domain == "distinct",
        **rest,
    )


CASES = [
    *[Case("sort", sort(**a), (s,), a, "distinct", types(s)) for s, a in LINES],
    *[Case("sort", sort(**a), (s,), a, "small", types(s), smooth=False) for s, a in LINES[:8]],
    *[
        Case("argsort", argsort(**a), (s,), a, domain, types(s), results="float32")
        for s, a in LINES
        for domain in ("small", "normal")
    ],
    *[
        Case("argsort", argsort(), ((2, 9),), {"dtype": t}, "small", SOME)
        for t in ("uint8", "int32", "int64", "float16", "float64")
    ],
    *[
        firsts(s, a, kind, domain)
        for kind in TYPES
        for domain in ("distinct", "small")
        for s, a in [
            ((7,), {}),
            ((3, 5), {"k": 3}),
            ((3, 5), {"k": 2, "is_ascend": True}),
            ((3, 5), {"k": 2, "axis": 0}),
            ((2, 4, 3), {"k": 2, "axis": 1}),
            ((3, 4), {"k": 5, "axis": None}),
            ((3, 5), {"k": 0}),
            ((3, 5), {"k": 5, "is_ascend": True}),
            ((200, 300), {"k": 9}),
            ((0, 3), {"k": 2}),
            ((3, 0), {"k": -1}),
        ]
    ],
    firsts((3, 5), {"k": 2, "dtype": "int64"}, "both", "distinct", results=(None, "int64")),
    firsts((3, 5), {"k": 2, "dtype": "uint8"}, "indices", "small", results=("uint8",)),
]
REFUSED = [
    Refused("topk", ("'k'", "at most 5", "got 6"), ((3, 5),), {"k": 6}),
    Refused("topk", ("'k'", "at most 15", "got 16"), ((3, 5),), {"k": 16, "axis": None}),
    Refused("topk", ("'k'", "at most 0"), ((3, 0),)),
    Refused("topk", ("axis 2",), ((3, 5),), {"axis": 2}),
    Refused("topk", ("uint8", "256", "300", "int64"), ((300,),), {"dtype": "uint8"}),
    Refused("topk", ("ret_typ", "'mask'", "'all'"), None, {"ret_typ": "all"}),
    Refused("topk", ("dtype", "'int32'", "int8"), None, {"dtype": "int8"}),
    Refused("argsort", ("float16", "2049", "int64"), ((3000,),), {"dtype": "float16"}),
    Refused("argsort", ("float32", "16777217"), ((4097, 4096),), {"axis": None}),
    Refused("sort", ("axis -1", "0 dimensions"), ((),)),
    Refused("sort", ("bool", "not supported"), ((3,),), {}, ("bool",)),
]
