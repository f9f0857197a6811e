"""Images as NumPy turns, cuts and scales them."""

import numpy as np

from ..case import Case, Refused
from .resample import bilinear, fixed

FLOATS = ("float32", "float64", "float16", "bfloat16")
RESULT = dict.fromkeys((*FLOATS, "uint8", "int8", "int32", "int64"), "float32")


def last(oracle):
    """An oracle of images with channels second, for those with channels last."""
    return lambda x: np.moveaxis(oracle(np.moveaxis(x, -1, -3)[(None,) * (4 - x.ndim)]), -3, -1)[
        0 if x.ndim == 3 else slice(None)
    ]


def normalized(mean, std):
    def oracle(x):
        a, b = (np.reshape(np.float32(v), (-1, 1, 1)).astype("float64") for v in (mean, std))
        return (x - a) / b

    return oracle


CASES = [
    *[
        Case("_image_to_tensor", lambda x: np.moveaxis(x, -1, -3) / 255, (s,), results=RESULT)
        for s in [(3, 4, 2), (2, 3, 2, 3), (0, 3, 2, 3)]
    ],
    *[
        Case("_image_normalize", normalized(**a), (s,), a, dtypes=types, steps=4)
        for s, a, types in [
            ((3, 2, 4), {"mean": (0.5, 1.0, 2.0), "std": (0.5, 2.0, 4.0)}, None),
            ((2, 1, 3, 2), {"mean": 0.5, "std": 0.25}, FLOATS),
            ((0, 3, 3, 2), {"mean": (0.5,), "std": (1.0, 2.0, 3.0)}, FLOATS),
        ]
    ],
    *[
        Case(
            "_image_crop",
            lambda x: x[..., 1:3, 2:3, :],
            (s,),
            {"x": 2, "y": 1, "width": 1, "height": 2},
        )
        for s in [(3, 4, 3), (2, 4, 3, 1)]
    ],
    Case("_image_flip_left_right", lambda x: x[:, ::-1], ((2, 3, 3),)),
    Case("_image_flip_top_bottom", lambda x: x[::-1], ((3, 2, 1),)),
    Case("_image_random_flip_left_right", lambda x: x, ((3, 1, 3),)),
    Case("_image_random_flip_top_bottom", lambda x: x, ((1, 3, 1),)),
    Case(
        "_image_resize",
        lambda x: x[..., [0, 0, 1], :, :][..., [0, 2], :],
        ((2, 2, 4, 5),),
        {"size": (2, 3), "interp": 0},
    ),
    *[
        Case("_image_resize", last(bilinear(fixed(*to), False)), (s,), a, dtypes=types, steps=4)
        for s, to, a, types in [
            ((2, 4, 3), (4, 8), {"size": 4, "keep_ratio": True}, FLOATS[:2]),
            ((2, 3, 2, 1), (6, 2), {"size": (2, 6)}, FLOATS[:1]),
        ]
    ],
]
REFUSED = [
    Refused("_image_normalize", ("'mean'", "4"), ((3, 2, 2),)),
    Refused(
        "_image_crop", ("x=2", "beyond"), ((3, 3, 3),), {"x": 2, "y": 0, "width": 2, "height": 1}
    ),
    Refused("_image_flip_left_right", ("channels", "(2, 2, 3, 3)"), ((2, 2, 3, 3),)),
    Refused("_image_resize", ("'size'",), None, {"size": 0}),
    Refused("_image_resize", ("float16",), ((2, 2, 3),), {"size": 2}, ("float16",)),
]
