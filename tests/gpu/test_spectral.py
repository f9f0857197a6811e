"""Fourier transforms on a GPU are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
LENGTHS = [1, 2, 7, 12, 127, 131, 360, 1024, 2048, 2054, 4096, 4099, 6000, 127 * 64]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_both_ways(n, dtype, monkeypatch):
    """Rows that shared memory holds, many at once, passes of their own, and large primes."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")
    x = np.random.default_rng(0).normal(size=(7, n)).astype(dtype)
    found = mx.nd.contrib.fft(mx.nd.array(x, ctx=GPU, dtype=dtype))
    wanted = np.fft.fft(x.astype("float64"))
    near = np.sqrt(n) * 40 * np.finfo(dtype).eps
    pairs = found.asnumpy().reshape(7, n, 2)
    np.testing.assert_allclose(pairs[..., 0], wanted.real, atol=near)
    np.testing.assert_allclose(pairs[..., 1], wanted.imag, atol=near)
    np.testing.assert_allclose(mx.nd.contrib.ifft(found).asnumpy(), n * x, atol=near * n)
    assert races() == ""
