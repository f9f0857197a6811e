"""Operators that cut ranges of indices."""

from ..case import Case

SOME = ("float32", "float64")


def cut(axis, begin, end):
    def oracle(x):
        index = [slice(None)] * x.ndim
        index[axis] = slice(begin, end)
        return x[tuple(index)]

    return oracle


def ranged(begin, end, step):
    index = tuple(slice(*r) for r in zip(begin, end, step or (None,) * len(begin), strict=True))
    return lambda x: x[index]


def window(top, left, height, width):
    return lambda x, *_: x[:, :, top : top + height, left : left + width]


RANGES = [
    ((1, None), (3, -1), ()),
    ((1,), (3,), ()),
    ((None, 4), (None, 0), (2, -2)),
    ((None, None), (None, None), (None, -1)),
    ((0, -2), (9, None), (3, 1)),
    ((4,), (9,), ()),
    ((2,), (1,), ()),
    ((0,), (-9,), ()),
    ((9, 0), (None, 5), (-1, 1)),
    ((-4, -5), (-1, -1), (2, 3)),
]


CASES = [
    *[
        Case("slice", ranged(b, e, s), ((4, 5),), {"begin": b, "end": e, "step": s}, dtypes=SOME)
        for b, e, s in RANGES
    ],
    Case("slice", ranged((1,), (4,), (2,)), ((5, 2, 3),), {"begin": 1, "end": 4, "step": 2}),
    Case("slice", ranged((0,), (2,), ()), ((3, 0),), {"begin": 0, "end": 2}, dtypes=SOME),
    Case("slice_axis", cut(1, 1, 3), ((2, 5, 3),), {"axis": 1, "begin": 1, "end": 3}),
    *[
        Case(
            "slice_axis", cut(a, b, e), ((2, 5, 3),), {"axis": a, "begin": b, "end": e}, dtypes=SOME
        )
        for a, b, e in ((1, -2, None), (-1, 0, -1), (0, 0, 2), (1, 3, 3))
    ],
    Case("slice_like", lambda x, _: x[:2, :3], ((4, 5), (2, 3))),
    *[
        Case("slice_like", lambda x, _, i=i: x[i], ((4, 5), like), {"axes": axes}, dtypes=SOME)
        for like, axes, i in [
            ((2, 3), (1,), (slice(None), slice(3))),
            ((2, 3), (-1,), (slice(None), slice(3))),
            ((2, 3, 9), (0, 1), (slice(2), slice(3))),
            ((2,), (0,), (slice(2),)),
            ((0, 5), (), (slice(0),)),
        ]
    ],
    Case(
        "Crop",
        window(1, 1, 2, 2),
        ((2, 2, 4, 4),),
        {"h_w": (2, 2), "offset": (1, 1), "num_args": 1},
    ),
    *[
        Case("Crop", window(*w), shapes, {**attrs, "num_args": len(shapes)}, dtypes=SOME)
        for w, shapes, attrs in [
            ((1, 1, 2, 3), ((1, 1, 4, 5),), {"h_w": (2, 3), "center_crop": True}),
            ((1, 0, 3, 3), ((1, 1, 4, 4), (1, 2, 3, 3)), {"offset": (1, 0)}),
            ((1, 0, 1, 4), ((1, 1, 4, 4), (1, 1, 1, 4)), {"center_crop": True}),
        ]
    ],
]
