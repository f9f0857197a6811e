"""Densities on a GPU are those of the CPU, also where there is none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
LAWS = {
    "uniform": 2,
    "normal": 2,
    "exponential": 1,
    "gamma": 2,
    "poisson": 1,
    "negative_binomial": 2,
    "generalized_negative_binomial": 2,
}
SAMPLES = [0.0, 1.0, 2.5, 40.0, -1.0, -0.5, np.inf, np.nan]
PARAMS = [0.0, 1.0, 0.25, 30.0, -2.0, np.nan]


@pytest.fixture(autouse=True)
def _gpus_alone(monkeypatch):
    """A detour by the CPU is a warning, which fails here."""
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_edges(law, is_log):
    params = np.array(list(itertools.product(PARAMS, repeat=LAWS[law]))).T
    samples = np.tile(SAMPLES, (params.shape[1], 1))
    found = []
    for ctx in (GPU, mx.cpu()):
        arrays = [mx.nd.array(x, ctx=ctx, dtype="float64") for x in (samples, *params)]
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record():
            out = getattr(mx.nd, f"random_pdf_{law}")(*arrays, is_log=is_log)
        out.backward()
        found.append([x.asnumpy() for x in (out, *(array.grad for array in arrays))])
    for mine, expected in zip(*found, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-11, atol=1e-13)
    assert races() == ""
