"""Dropout where chance plays no part; test_random.py tests the rest."""

import numpy as np

from ..case import Case, of_any_shape

CASES = [
    *of_any_shape("Dropout", lambda x: x, "normal"),
    *of_any_shape("Dropout", lambda x: x, "normal", attrs={"p": 0.0}, train=True),
    *of_any_shape("Dropout", np.zeros_like, "normal", attrs={"p": 1.0}, train=True),
    Case("Dropout", lambda x: x, ((3, 4),), {"p": 0.5, "axes": (1,)}),
    Case("Dropout", np.zeros_like, ((3, 4),), {"p": 1.0, "mode": "always", "axes": (0,)}),
]
