"""Casts for mixed precision; what they do to mixed types is in tests/ops/test_amp.py."""

from ferromix.ops.family import ALL_TYPES

from ..case import Case

LOW = ("float32", "float16", "bfloat16")
KEPT = {t: t for t in ALL_TYPES if t not in LOW}
"""Types that are not cast."""


def same(*xs):
    return xs


CASES = [
    *[Case("amp_cast", lambda x: x, ((3, 4),), {"dtype": t}, "small", results=KEPT) for t in LOW],
    Case("amp_cast", lambda x: x, ((0, 3),), {"dtype": "float16"}, "small", ("float32",)),
    *[
        Case("amp_multicast", same, ((3, 4), (2,), ())[:n], {"num_outputs": n}, "small")
        for n in (1, 2, 3)
    ],
    Case("amp_multicast", same, ((3,), (0, 2)), {"num_outputs": 2, "cast_narrow": True}, "small"),
]
