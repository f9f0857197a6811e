"""Eigenvectors of symmetric matrices by recipes, run on the host."""

from __future__ import annotations

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import launch, on_the_cpu

from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

CARD = make("_linalg_syevd", {})


def found(sources, a: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    outputs = [np.ones_like(a), np.ones_like(a[..., 0])]
    assert launch(sources, CARD, [a], outputs, [1, 1], seed=seed)
    return outputs


def symmetric(values: np.ndarray, dtype: str) -> np.ndarray:
    """A matrix with these eigenvalues; what is above its diagonal is something else."""
    n = len(values)
    q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0]
    return (np.tril(q * values @ q.T) + np.triu(np.full((n, n), 7), 1)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 35, 150])
def test_values_and_vectors_are_those_of_the_cpu(sources, n, dtype):
    a = np.stack([symmetric(np.arange(n) - n / 3, dtype), symmetric(1.0 + np.arange(n), dtype)])
    for req in (1, 3):
        outputs = [np.ones_like(a), np.ones_like(a[..., 0])]
        want = on_the_cpu(CARD, [a], outputs, [req, req])
        assert launch(sources, CARD, [a], outputs, [req, req], seed=3)
        for x, y in zip(outputs, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=20 * n * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_values_that_are_equal(sources, dtype, scale):
    """Any vectors will do that stand upright on each other; some matrices need no reflectors."""
    n, eps = 40, np.finfo(dtype).eps
    mixed = symmetric(np.repeat([-3.0, 0, 0.5, 2], n // 4), dtype)
    for a in (mixed, np.zeros((n, n)), np.eye(n), np.diag(np.arange(n) % 3)):
        a = (a * scale).astype(dtype)
        u, values = found(sources, a)
        whole = np.tril(a) + np.tril(a, -1).T
        np.testing.assert_allclose(u @ u.T, np.eye(n), rtol=0, atol=30 * eps)
        most = np.abs(whole).max()
        np.testing.assert_allclose(u.T * values @ u, whole, rtol=0, atol=60 * eps * most)
        assert (np.diff(values) >= 0).all()
        tops = np.take_along_axis(u, np.abs(u).argmax(1)[:, None], 1)
        assert (tops > 0).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_no_number(sources, wrong):
    a = np.stack([symmetric(np.arange(5.0), "float64")] * 2)
    a[1, 3, 1] = wrong
    u, values = found(sources, a)
    assert np.isnan(u[1]).all()
    assert np.isnan(values[1]).all()
    assert np.isfinite(u[0]).all()
    # What is above the diagonal is not read.
    a[1, 3, 1], a[1, 1, 3] = a[0, 3, 1], wrong
    np.testing.assert_array_equal(*found(sources, a)[0])


def test_bits_do_not_depend_on_the_order_of_threads(sources):
    a = symmetric(np.arange(140.0), "float32")
    assert len({b"".join(x.tobytes() for x in found(sources, a, seed)) for seed in range(3)}) == 1
