"""SVMOutput: the data, and the derivative of the hinge loss."""

import numpy as np

from ..case import Case, Refused


def gradient(margin=1.0, regularization_coefficient=1.0, use_linear=False):
    def rule(x, label, head):
        sign = np.where(np.arange(x.shape[-1]) == np.trunc(label)[..., None], 1.0, -1.0)
        short = np.maximum(margin - sign * x, 0)
        slope = np.where(short > 0, 1.0, 0.0) if use_linear else 2 * short
        return -regularization_coefficient * sign * slope, None

    return rule


CASES = [
    Case(
        "SVMOutput",
        lambda x, label: x,
        (shape, shape[:-1]),
        a,
        ("normal", "below4"),
        gradient=gradient(**a),
        steps=4,
    )
    for shape, a in [
        ((6, 3), {}),
        ((6, 4), {"margin": 0.5, "regularization_coefficient": 0.25}),
        ((6, 4), {"use_linear": True}),
        ((2, 3, 4), {"use_linear": True, "regularization_coefficient": 2.0}),
        ((0, 4), {}),
    ]
]
REFUSED = [
    Refused("SVMOutput", ("'label'", "(2, 1)", "(2,)"), ((2, 3), (2, 1))),
    Refused("SVMOutput", ("'data'", "2 dimensions"), ((3,), (3,))),
]
