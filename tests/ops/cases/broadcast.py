"""Operators that repeat a tensor along axes."""

import numpy as np

from ..case import Case

SOME = ("float32", "float64")

CASES = [
    Case(
        "broadcast_to",
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        ((2, 1, 4),),
        {"shape": (0, 3, 4)},
    ),
    Case(
        "broadcast_to", lambda x: np.broadcast_to(x, (5,)), ((1,),), {"shape": (5,)}, "normal", SOME
    ),
    Case("broadcast_to", lambda x: x, ((0, 3),), {"shape": (0, 3)}, "normal", SOME),
    Case(
        "broadcast_axis",
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        ((1, 3, 1),),
        {"axis": (0, 2), "size": (2, 4)},
    ),
    Case(
        "broadcast_axis", lambda x: np.broadcast_to(x, (2, 5)), ((2, 1),), {"axis": -1, "size": 5}
    ),
    Case("broadcast_like", lambda x, y: np.broadcast_to(x, y.shape), ((3, 1), (2, 3, 4))),
    Case(
        "broadcast_like",
        lambda x, y: np.broadcast_to(x, (2, 5)),
        ((2, 1), (3, 5)),
        {"lhs_axes": (1,), "rhs_axes": (-1,)},
    ),
]
