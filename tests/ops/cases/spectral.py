"""Fourier transforms, against NumPy's."""

import numpy as np

from ..case import Case, Refused


def fft(x):
    found = np.fft.fft(x, axis=-1) if x.size else np.zeros(x.shape, complex)
    return np.stack([found.real, found.imag], -1).reshape(*x.shape[:-1], -1 if x.size else 0)


def ifft(x):
    n = x.shape[-1] // 2
    pairs = x.reshape(*x.shape[:-1], n, 2)
    values = pairs[..., 0] + 1j * pairs[..., 1]
    return np.fft.ifft(values, axis=-1).real * n if x.size else np.zeros((*x.shape[:-1], n))


CASES = [
    *[Case("_contrib_fft", fft, (s,), steps=4) for s in [(3, 8), (5,), (2, 2, 1, 6)]],
    *[Case("_contrib_ifft", ifft, (s,), steps=4) for s in [(3, 8), (10,), (2, 2, 1, 6)]],
    Case("_contrib_fft", lambda x: np.zeros((0, 8)), ((0, 4),), {"compute_size": 2}),
    Case("_contrib_ifft", lambda x: np.zeros((2, 0)), ((2, 0),)),
]
REFUSED = [Refused("_contrib_ifft", ("odd", "(2, 3)"), ((2, 3),))]
