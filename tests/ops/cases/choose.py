"""Random choices where there is nothing to choose; test_random.py tests the rest."""

import numpy as np

from ..case import Case, Refused


def only(shape):
    """Draws of the one class that there is, and their logarithms."""

    def oracle(data):
        places = np.broadcast_to(data.reshape(*data.shape[:-1], *[1] * len(shape)), shape_of(data))
        return np.zeros(shape_of(data)), np.log(places)

    def shape_of(data):
        return (*data.shape[:-1], *shape)

    return oracle


CASES = [
    Case(
        "_random_randint",
        lambda: np.full((2, 3), 7),
        (),
        {"low": 7, "high": 8, "shape": (2, 3), "dtype": t},
        dtypes=(t,),
    )
    for t in ("int32", "int64")
]
CASES += [
    Case(
        "_sample_multinomial",
        lambda data: np.zeros((4, 2)),
        ((4, 1),),
        {"shape": (2,)},
        "positive",
        fixed=("data",),
        results="int32",
    ),
    Case(
        "_sample_multinomial",
        only((3,)),
        ((2, 4, 1),),
        {"shape": (3,), "get_prob": True},
        "positive",
        results=("int32", None),
        heads=2,
        orders=1,
        steps=4,
    ),
    Case(
        "_sample_unique_zipfian",
        lambda: (np.zeros((3, 1)), np.ones(3)),
        (),
        {"range_max": 1, "shape": (3, 1)},
        dtypes=("int64",),
    ),
    Case("_shuffle", lambda data: data, ((1, 5),)),
    Case("_shuffle", lambda data: data, ((0, 2),), dtypes=("float32",)),
]
REFUSED = [
    Refused("_random_randint", ("low=3", "high=3"), None, {"low": 3, "high": 3}),
    Refused("_random_randint", ("high", "required"), None, {"low": 3}),
    Refused("_sample_multinomial", ("'data'", "()"), ((),)),
    Refused("_sample_multinomial", ("no classes",), ((3, 0),)),
    Refused("_sample_multinomial", ("dtype", "int64"), ((3, 2),), {"dtype": "int64"}),
    Refused("_sample_unique_zipfian", ("range_max=3",), None, {"range_max": 3, "shape": (1, 4)}),
    Refused("_sample_unique_zipfian", ("rows",), None, {"range_max": 3, "shape": (2,)}),
    Refused("_shuffle", ("'data'", "()"), ((),)),
]
