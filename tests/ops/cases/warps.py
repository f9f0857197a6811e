"""Images read at points, one point at a time."""

import numpy as np

from ..case import Case, Refused

MAP, IMAGE = {"transform_type": "affine"}, (2, 3, 4, 5)


def affine(high, wide):
    def oracle(data):
        y, x = np.meshgrid(np.linspace(-1, 1, high), np.linspace(-1, 1, wide), indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
        return (data.reshape(-1, 2, 3) @ points).reshape(-1, 2, high, wide)

    return oracle


def warp(data):
    _, _, high, wide = data.shape
    y, x = np.mgrid[:high, :wide]
    half = np.array([wide - 1, high - 1]).reshape(2, 1, 1) / 2
    return (data + np.stack([x, y])) / half - 1


def at(plane, y, x):
    """A plane at a point; zeros are around it."""
    bottom, left = int(np.floor(y)), int(np.floor(x))
    found = 0.0
    for i in (bottom, bottom + 1):
        for j in (left, left + 1):
            if 0 <= i < plane.shape[0] and 0 <= j < plane.shape[1]:
                found += (1 - abs(y - i)) * (1 - abs(x - j)) * plane[i, j]
    return found


def sampled(data, grid):
    high, wide = data.shape[2:]
    out = np.zeros((*data.shape[:2], *grid.shape[2:]))
    for n, c, i, j in np.ndindex(*out.shape):
        x, y = (grid[n, :, i, j] + 1) * [wide - 1, high - 1] / 2
        out[n, c, i, j] = at(data[n, c], y, x)
    return out


def turned(high, wide):
    return lambda data, loc: sampled(data, affine(high, wide)(loc))


def transformer(shape, loc, target, **rest):
    attrs = {**MAP, "sampler_type": "bilinear", "target_shape": target}
    return Case(
        "SpatialTransformer", turned(*target), (shape, loc), attrs, ("normal", "unit"), **rest
    )


CASES = [
    Case("GridGenerator", affine(3, 4), ((2, 6),), {**MAP, "target_shape": (3, 4)}, steps=4),
    Case("GridGenerator", affine(2, 90), ((0, 6),), {**MAP, "target_shape": (2, 90)}, steps=4),
    Case("GridGenerator", warp, ((2, 2, 3, 4),), {"transform_type": "warp"}, steps=4),
    *[
        Case("BilinearSampler", sampled, (a, b), {}, ("normal", domain), steps=16, orders=1)
        for a, b, domain in [
            (IMAGE, (2, 2, 3, 4), "unit"),
            (IMAGE, (2, 2, 2, 3), "normal"),
            ((1, 1, 1, 6), (1, 2, 1, 5), "unit"),
            ((1, 2, 9, 8), (1, 2, 40, 30), "unit"),
            ((2, 0, 4, 5), (2, 2, 3, 4), "unit"),
            ((1, 1, 0, 5), (1, 2, 3, 4), "unit"),
            (IMAGE, (2, 2, 0, 4), "unit"),
        ]
    ],
    transformer(IMAGE, (2, 6), (3, 2), steps=32, orders=1),
]
REFUSED = [
    Refused("GridGenerator", ("target_shape", "scale"), None, MAP),
    Refused("GridGenerator", ("target_shape", "(1, 3)"), None, {**MAP, "target_shape": (1, 3)}),
    Refused("GridGenerator", ("'data'", "scale"), ((1, 2, 1, 3),), {"transform_type": "warp"}),
    Refused("GridGenerator", ("transform_type", "required")),
    Refused("BilinearSampler", ("'grid'", "(1, 2, 3, 4)"), (IMAGE, (1, 2, 3, 4))),
]
