"""Operators that join tensors and take them apart."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")


def joined(axis):
    return lambda *parts: np.concatenate(parts, axis)


def stacked(axis):
    return lambda *parts: np.stack(parts, axis)


def split(where, axis=1, squeeze=False):
    def oracle(x):
        parts = np.split(x, where, axis)
        return [p.squeeze(axis) for p in parts] if squeeze else parts

    return oracle


def equal_parts(shape, count, axis=1, squeeze=False, dtypes=SOME):
    attrs = {"num_outputs": count, "axis": axis, "squeeze_axis": squeeze}
    oracle = split(count, axis, squeeze)
    return Case("SliceChannel", oracle, (shape,), attrs, dtypes=dtypes, heads=count)


def parts_at(shape, indices, axis=0, squeeze=False, dtypes=SOME):
    attrs = {"indices": (0, *indices), "axis": axis, "squeeze_axis": squeeze}
    oracle = split(indices, axis, squeeze)
    return Case("_split_v2", oracle, (shape,), attrs, dtypes=dtypes, heads=len(indices) + 1)


CASES = [
    Case("Concat", joined(1), ((2, 3), (2, 1), (2, 4)), {"num_args": 3}),
    Case("Concat", joined(0), ((2, 3), (1, 3)), {"num_args": 2, "dim": 0}, dtypes=SOME),
    Case("Concat", joined(-1), ((2, 3, 2), (2, 3, 5)), {"num_args": 2, "dim": -1}, dtypes=SOME),
    Case("Concat", joined(0), ((0, 3), (2, 3)), {"num_args": 2, "dim": 0}, dtypes=SOME),
    Case("Concat", joined(0), ((4,),), {"num_args": 1, "dim": 0}, dtypes=SOME),
    Case("stack", stacked(0), ((2, 3), (2, 3)), {"num_args": 2}),
    Case("stack", stacked(1), ((2, 3), (2, 3), (2, 3)), {"num_args": 3, "axis": 1}, dtypes=SOME),
    Case("stack", stacked(-1), ((2, 3), (2, 3)), {"num_args": 2, "axis": -1}, dtypes=SOME),
    Case("stack", stacked(0), ((2, 3),), {"num_args": 1}, dtypes=SOME),
    Case("stack", stacked(0), ((), ()), {"num_args": 2}, dtypes=SOME),
    Case("stack", stacked(1), ((0, 2), (0, 2)), {"num_args": 2, "axis": 1}, dtypes=SOME),
    equal_parts((2, 6), 3, dtypes=None),
    equal_parts((2, 3, 4), 4, axis=-1, squeeze=True),
    equal_parts((4, 3), 2, axis=0),
    equal_parts((2, 3), 1),
    equal_parts((0, 4), 2),
    equal_parts((2, 0), 2),
    parts_at((5, 2), (1, 3), dtypes=None),
    parts_at((5, 2), (3, 3)),
    parts_at((5, 2), (5,)),
    parts_at((2, 5), (2,), axis=-1),
    parts_at((3, 2), (1, 2), squeeze=True),
    parts_at((3, 2), ()),
    Case(
        "_split_v2",
        split(2, 0),
        ((4, 3),),
        {"indices": (), "axis": 0, "sections": 2},
        heads=2,
    ),
]
