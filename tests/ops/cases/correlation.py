"""Correlations: one place and displacement at a time."""

import itertools

import numpy as np

from ..case import Case, Refused


def correlation(
    kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=0, is_multiply=True
):
    def oracle(a, b):
        n, _, *extents = a.shape
        pads = [(0, 0), (0, 0), (pad_size, pad_size), (pad_size, pad_size)]
        a, b = np.pad(a, pads), np.pad(b, pads)
        border = 2 * (max_displacement + kernel_size // 2) - 2 * pad_size
        high, wide = (-(-(m - border) // stride1) for m in extents)
        radius = max_displacement // stride2
        steps = [d * stride2 for d in range(-radius, radius + 1)]
        out = np.zeros((n, len(steps) ** 2, high, wide))
        for i, (dy, dx) in enumerate(itertools.product(steps, steps)):
            for y, x in itertools.product(range(high), range(wide)):
                v, u = y * stride1 + max_displacement, x * stride1 + max_displacement
                p = a[:, :, v : v + kernel_size, u : u + kernel_size]
                v, u = v + dy, u + dx
                q = b[:, :, v : v + kernel_size, u : u + kernel_size]
                pair = p * q if is_multiply else np.abs(p - q)
                out[:, i, y, x] = pair.mean((1, 2, 3))
        return out

    return oracle


def case(shape, **attrs):
    pair = (shape, shape)
    return Case("Correlation", correlation(**attrs), pair, attrs, steps=20, orders=1)


CASES = [
    case((2, 3, 4, 5), pad_size=1),
    case((1, 20, 3, 3), max_displacement=0),
    case((1, 2, 7, 6), kernel_size=3, max_displacement=2, stride1=2, stride2=2, pad_size=3),
    case((1, 2, 5, 4), pad_size=2, max_displacement=2, stride2=3, is_multiply=False),
    case((1, 17, 3, 3), pad_size=1, is_multiply=False),
    case((0, 2, 4, 4)),
]
REFUSED = [
    Refused("Correlation", ("kernel_size", "odd"), None, {"kernel_size": 2}),
    Refused("Correlation", ("data1", "too small"), ((1, 1, 2, 2),) * 2),
]
