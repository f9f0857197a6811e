"""Slices put in at indices, against NumPy's."""

from ferromix.ops.family import ALL_TYPES

from ..case import Case, Refused

SOME = ("float32", "float64")


def copied(old, index, new):
    out = old.copy()
    out[index.astype("int64")] = new
    return out


def case(shapes, domain, dtypes=SOME, **rest):
    domains = ("normal", domain, "normal")
    name = "_contrib_index_copy"
    return Case(name, copied, shapes, {}, domains, dtypes, fixed=("index_vector",), **rest)


CASES = [
    case(((4, 3), (1,), (1, 3)), "below4", dtypes=None),
    case(((2, 3, 2), (1,), (1, 3, 2)), "below2"),
    case(((5,), (1,), (1,)), "below5"),
    case(((3, 0), (2,), (2, 0)), "below3"),
    case(((3, 2), (0,), (0, 2)), "below3"),
    *[
        case(((4, 3), (1,), (1, 3)), "below4", dtypes=("float64",), mixed=(None, t, None))
        for t in ALL_TYPES
        if t != "bool"
    ],
]
SLICES = ((4, 3), (2,), (2, 3))
REFUSED = [
    Refused("_contrib_index_copy", ("'old_tensor'", "(4, 3)", "(-1, 2)"), ((4, 3), (2,), (2, 2))),
    Refused("_contrib_index_copy", ("'new_tensor'", "more slices"), ((1, 3), (2,), (2, 3))),
    Refused("_contrib_index_copy", ("'index_vector'", "(3,)"), ((4, 3), (3,), (2, 3))),
]
