"""Khatri-Rao products, against NumPy's Kronecker products of columns."""

from functools import reduce

import numpy as np

from ..case import Case, Refused


def columnwise(*matrices):
    columns = [reduce(np.kron, parts) for parts in zip(*(m.T for m in matrices), strict=True)]
    rows = int(np.prod([len(m) for m in matrices]))
    return np.array(columns).T.reshape(rows, matrices[0].shape[1])


CASES = [
    Case("khatri_rao", columnwise, shapes, {"num_args": len(shapes)}, "halves", steps=4)
    for shapes in [
        ((2, 3), (4, 3)),
        ((2, 3),),
        ((2, 2), (3, 2), (1, 2)),
        ((0, 3), (2, 3)),
        ((2, 0), (3, 0)),
        ((30, 5), (40, 5)),
    ]
]

REFUSED = [
    Refused("khatri_rao", ("arg1", "(2, 4)", "(-1, 3)"), ((2, 3), (2, 4)), {"num_args": 2}),
    Refused("khatri_rao", ("arg0", "2 dimensions"), ((2,), (2,)), {"num_args": 2}),
]
