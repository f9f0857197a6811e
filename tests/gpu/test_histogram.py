"""Histograms on a GPU count as those of the CPU do."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)


@pytest.fixture(autouse=True)
def _gpus_alone(monkeypatch):
    """A detour by the CPU is a warning, which fails here."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int64"])
@pytest.mark.parametrize(
    ("low", "high", "bins"), [(0, 10, 3), (-2.5, 7.25, 70), (4, 4, 2), (0, 200, 5000)]
)
def test_even_bins(low, high, bins, dtype):
    """Few and many, with numbers on edges, outside, and that are none."""
    x = np.random.default_rng(0).integers(-20, 220, 20_000) / 4
    if dtype in ("float32", "float64"):
        x[::99] = np.nan
    found = []
    for ctx in (GPU, mx.cpu()):
        data = mx.nd.array(np.abs(x) if dtype == "uint8" else x, ctx=ctx, dtype=dtype)
        found.append([a.asnumpy() for a in mx.nd.histogram(data, bins=bins, range=(low, high))])
    for pair in zip(*found, strict=True):
        np.testing.assert_array_equal(*pair)
    assert found[0][0].any()
    assert races() == ""


def test_given_edges():
    edges = np.array([-1.0, 0.5, 0.5, 2.0, 10.0, 40.0])
    x = np.random.default_rng(0).integers(-20, 220, 5000) / 4
    count, same = mx.nd.histogram(mx.nd.array(x, ctx=GPU), bins=mx.nd.array(edges, ctx=GPU))
    expected, _ = np.histogram(x, edges)
    np.testing.assert_array_equal(count.asnumpy(), expected)
    np.testing.assert_array_equal(same.asnumpy(), edges)
    assert races() == ""
