"""Factors and equations of matrices that several blocks of rows and columns share are the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

from .device import races

GPU = mx.gpu(0)
REAL = pytest.mark.parametrize(("dtype", "within"), [("float32", 2e-3), ("float64", 1e-10)])


def same(operator, inputs, dtype, within, **attrs):
    """Each output on the GPU is that of the CPU, and is returned."""
    found = [
        operator(*[mx.nd.array(x, ctx=c, dtype=dtype) for x in inputs], **attrs)
        for c in (GPU, mx.cpu())
    ]
    ours, wanted = [x if isinstance(x, list) else [x] for x in found]
    for a, b in zip(ours, wanted, strict=True):
        assert a.ctx == GPU
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=within, atol=within)
    assert races() == ""
    return [x.asnumpy() for x in ours]


def drawn(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape)


def good(*shape):
    """Matrices with large diagonals."""
    return drawn(*shape) + 2 * shape[-1] ** 0.5 * np.eye(shape[-1])


@REAL
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("rightside", [True, False])
def test_equations_of_triangles(dtype, within, lower, transpose, rightside):
    a, b = good(2, 75, 75), drawn(2, 75, 75)[..., : 75 if rightside else 70]
    attrs = {"lower": lower, "transpose": transpose, "rightside": rightside}
    same(mx.nd.linalg.trsm, [a, b], dtype, within, alpha=0.5, **attrs)
    same(mx.nd.linalg.trmm, [a, b], dtype, within, alpha=0.5, **attrs)


@REAL
def test_products_with_the_transposed(dtype, within):
    (found,) = same(mx.nd.linalg.syrk, [drawn(2, 90, 40)], dtype, within)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))


@REAL
@pytest.mark.parametrize("shape", [(2, 100, 100), (5, 33, 33), (40, 2, 2), (1, 1)])
def test_determinants(dtype, within, shape):
    a = drawn(*shape)
    same(mx.nd.linalg.slogdet, [a], dtype, within)
    same(mx.nd.linalg.det, [a / shape[-1] ** 0.5], dtype, within)


def test_pivots_are_those_of_the_cpu():
    a = np.random.default_rng(7).integers(-2, 3, (40, 12, 12)).astype(float)
    a[3, :, 5], a[4, 2, :], a[5] = 0, np.nan, np.eye(12)[::-1]
    a[6, 0, 0] = np.inf
    same(mx.nd.linalg.slogdet, [a], "float64", 1e-10)
    same(mx.nd.linalg.det, [a], "float64", 1e-10)


@REAL
def test_gradients_of_determinants(dtype, within):
    a = good(3, 70, 70)
    a[1, :, 4] = 0  # has no inverse
    found = []
    for ctx in (GPU, mx.cpu()):
        x = mx.nd.array(a, ctx=ctx, dtype=dtype)
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.linalg.slogdet(x)[1]
        y.backward()
        found.append(x.grad.asnumpy())
    np.testing.assert_allclose(*found, rtol=within, atol=within)
    assert not found[0][1].any()
    assert races() == ""


@REAL
@pytest.mark.parametrize("shape", [(2, 70, 100), (1, 33, 33), (30, 2, 7), (3, 1, 1)])
def test_factors_of_wide_matrices(dtype, within, shape):
    a = drawn(*shape)
    q, low = same(mx.nd.linalg.gelqf, [a], dtype, within)
    np.testing.assert_allclose(low @ q, a, rtol=within, atol=within)
    assert not np.triu(low, 1).any()


def test_rows_that_are_reflected_already():
    a = np.zeros((2, 3, 5))
    a[0, :, :3] = np.tril(np.full((3, 3), -2.0))
    a[1, 1] = 1e200
    same(mx.nd.linalg.gelqf, [a], "float64", 1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("potrf", "not positive definite: the pivot of row 4 is not positive"),
        ("potri", "element 4 of its diagonal is zero"),
        ("inverse", "has a matrix that has no inverse"),
    ],
)
def test_matrices_that_are_refused(name, words):
    wrong = np.diag([1.0, 2, 3, 4, 0, 6])
    with pytest.raises(InvalidArgumentError, match=words):
        getattr(mx.nd.linalg, name)(mx.nd.array(wrong, ctx=GPU)).wait_to_read()
    found = getattr(mx.nd.linalg, name)(mx.nd.array(wrong + np.eye(6), ctx=GPU))
    assert np.isfinite(found.asnumpy()).all()
    assert races() == ""
