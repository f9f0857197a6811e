"""Linear algebra: what MXNet 1.9.1 computes, matrices without a result, and large ones."""

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FILE = Path(__file__).parents[1] / "golden" / "linalg.npz"
with np.load(FILE) as _data:
    DATA = dict(_data)
GOLDEN = list(enumerate(json.loads(str(DATA["cases"]))))


def parts(number, part):
    start = f"{number}.{part}."
    return [DATA[k] for k in sorted(DATA) if k.startswith(start)]


@pytest.mark.parametrize(("number", "case"), GOLDEN, ids=lambda x: str(x).replace(" ", ""))
def test_golden(number, case):
    given = [mx.nd.array(x, dtype="float64") for x in parts(number, "in")]
    for x in given:
        x.attach_grad()
    with mx.autograd.record():
        outs = getattr(mx.nd.linalg, case["op"])(*given, **case["attrs"])
        outs = outs if isinstance(outs, (list, tuple)) else [outs]
    heads = [mx.nd.array(h, dtype="float64") for h in parts(number, "head")]
    mx.autograd.backward(list(outs), heads)
    for found, wanted in zip(outs, parts(number, "out"), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-10, atol=1e-11)
    for x, wanted in zip(given, parts(number, "grad"), strict=True):
        np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-8, atol=1e-9)


SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    ("name", "matrix", "words"),
    [
        ("potrf", [[1.0, 2.0], [2.0, 1.0]], "not positive definite: the pivot of row 1"),
        ("potri", [[1.0, 0.0], [2.0, 0.0]], "element 1 of its diagonal is zero"),
        ("inverse", SINGULAR, "has no inverse"),
    ],
)
def test_matrices_without_a_result_raise(name, matrix, words):
    good = np.eye(2)
    batch = mx.nd.array(np.stack([good, matrix, good]))
    with pytest.raises(mx.base.MXNetError, match=words):
        getattr(mx.nd.linalg, name)(batch).asnumpy()


def test_determinants_of_singular_matrices_are_zero_without_a_gradient():
    a = mx.nd.array([SINGULAR, np.eye(2)])
    a.attach_grad()
    with mx.autograd.record():
        det, (sign, log) = mx.nd.linalg.det(a), mx.nd.linalg.slogdet(a)
    mx.autograd.backward([det, log])
    assert det.asnumpy().tolist() == [0, 1]
    assert sign.asnumpy().tolist() == [0, 1]
    assert log.asnumpy().tolist() == [-np.inf, 0]
    assert a.grad.asnumpy().tolist() == [[[0, 0], [0, 0]], [[2, 0], [0, 2]]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_ends(value):
    a = np.eye(3) * 2
    a[2, 1] = a[1, 2] = value
    a = mx.nd.array(a)
    u, values = mx.nd.linalg.syevd(a)
    assert np.isnan(u.asnumpy()).all()
    assert np.isnan(values.asnumpy()).all()
    q, _ = mx.nd.linalg.gelqf(a)
    assert np.isnan(q.asnumpy()).any()
    assert not np.isfinite(mx.nd.linalg.det(a).asnumpy()).any()
    assert mx.nd.linalg.trsm(mx.nd.zeros((2, 2)), mx.nd.ones((2, 1))).asnumpy()[0] == np.inf


@pytest.mark.parametrize(
    ("name", "attrs"), [("potrf", {}), ("potrf", {"lower": False}), ("syevd", {})]
)
def test_second_orders_along_symmetric_steps(name, attrs):
    random = np.random.default_rng(2)
    point = np.diag([4.0, 8.0, 12.0]) + np.ones((3, 3)) / 4
    heads, along, step = (random.standard_normal((3, 3)) for _ in range(3))
    step = step + step.T

    def gradient(values):
        a = mx.nd.array(values, dtype="float64")
        a.attach_grad()
        with mx.autograd.record():
            out = getattr(mx.nd.linalg, name)(a, **attrs)
            out = out[0] if isinstance(out, (list, tuple)) else out
            loss = (out * out * mx.nd.array(heads, dtype="float64")).sum()
            (first,) = mx.autograd.grad(loss, [a], create_graph=True)
            second = (first * mx.nd.array(along, dtype="float64")).sum()
        second.backward()
        return float(second.asnumpy().item()), a.grad.asnumpy()

    ends = [gradient(point + t * step)[0] for t in (1e-5, -1e-5)]
    slope = (gradient(point)[1] * step).sum()
    assert abs((ends[0] - ends[1]) / 2e-5 - slope) < 1e-7 * (1 + abs(slope))


def test_zeros_and_degenerate_eigenvalues():
    q, low = mx.nd.linalg.gelqf(mx.nd.zeros((2, 3)))
    assert q.asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert low.asnumpy().tolist() == [[0, 0], [0, 0]]
    for matrix in (np.zeros((3, 3)), np.eye(3), np.ones((3, 3))):
        u, values = (x.asnumpy() for x in mx.nd.linalg.syevd(mx.nd.array(matrix)))
        np.testing.assert_allclose(u.T @ np.diag(values) @ u, matrix, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
def test_factors_multiply_to_the_matrix(dtype, scale):
    n = 150
    random = np.random.default_rng(3)
    a = ((random.standard_normal((n, n)) + np.eye(n)) * scale).astype(dtype)
    near = 1e-4 if dtype == "float32" else 1e-12

    def close(x, y):
        np.testing.assert_allclose(x, y, atol=near * n * np.abs(y).max())

    given = mx.nd.array(a, dtype=dtype)
    q, low = (x.asnumpy().astype("float64") for x in mx.nd.linalg.gelqf(given))
    close(low @ q, a)
    close(q @ q.T, np.eye(n))
    assert (np.triu(low, 1) == 0).all()
    symmetric = (a + a.T) / 2
    u, values = mx.nd.linalg.syevd(mx.nd.array(symmetric, dtype=dtype))
    u, values = u.asnumpy().astype("float64"), values.asnumpy().astype("float64")
    close(u.T @ np.diag(values) @ u, symmetric)
    close(u @ u.T, np.eye(n))
    assert (np.diff(values) >= 0).all()


def test_beta_zero_hides_the_third_matrix():
    eye, hidden = mx.nd.array(np.eye(2)), mx.nd.full((2, 2), np.nan)
    assert mx.nd.linalg.gemm(eye, eye, hidden, beta=0).asnumpy().tolist() == np.eye(2).tolist()


def test_places_outside_of_a_sketch_raise():
    data, ones = mx.nd.ones((2, 2)), mx.nd.ones((1, 2))
    with pytest.raises(IndexError, match="index 3"):
        mx.nd.contrib.count_sketch(data, mx.nd.array([[0, 3]]), ones, out_dim=3).asnumpy()


def test_histogram():
    x = mx.nd.array([[0, 1], [2, 2], [3, 4]])
    count, edges = mx.nd.histogram(x, bins=mx.nd.array([0, 2.1, 3]))
    assert count.asnumpy().tolist() == [4, 1]
    assert count.dtype == np.int64
    assert edges.asnumpy().tolist() == np.float32([0, 2.1, 3]).tolist()
    count, edges = mx.nd.histogram(x, 5)
    assert count.dtype == np.float32
    assert count.asnumpy().tolist() == [1, 1, 2, 1, 1]
    narrow = mx.nd.histogram(x, 2, (1, 1))[1]
    assert narrow.asnumpy().tolist() == [0.5, 1, 1.5]
    odd = mx.nd.array([np.nan, 1, 2, np.inf, -1])
    assert mx.nd.histogram(odd, 2, (0, 2))[0].asnumpy().tolist() == [0, 2]
    whole = mx.nd.array([4, 1, 1, 4], dtype="int32")
    count, edges = mx.nd.histogram(whole, bins=3, range=(0, 5))
    assert (count.asnumpy().tolist(), edges.asnumpy().tolist()) == ([0, 2, 2], [0, 1, 3, 5])
    for bins in (2.5, "auto", [1, 2]):
        with pytest.raises(mx.base.MXNetError, match="bins must be"):
            mx.nd.histogram(x, bins=bins)
    with pytest.raises(mx.base.MXNetError, match="positive"):
        mx.nd.histogram(x, bins=0)
    a = mx.sym.Variable("a")
    made = mx.sym.histogram(a, 2, (0, 4)).bind(mx.cpu(), {"a": x})
    assert made.forward()[0].asnumpy().tolist() == [2, 4]
    assert mx.sym.histogram(a, bins=a).list_arguments() == ["a"]
    with pytest.raises(mx.base.MXNetError, match="range"):
        mx.sym.histogram(a, 2)


def test_indices_outside_are_counted_on():
    far = mx.nd.array([[3, 9, -6], [4, 5, 1]])
    assert mx.nd.ravel_multi_index(far, shape=(7, 6)).asnumpy().tolist() == [22, 59, -35]
    back = mx.nd.unravel_index(mx.nd.array([41, 137, -3]), shape=(7, 6))
    assert back.asnumpy().tolist() == [[6, 22, 0], [5, 5, -3]]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-4), ("float64", 1e-11)])
def test_matrices_of_many_tasks(dtype, tolerance):
    x = np.random.default_rng(0).standard_normal((300, 300)).astype(dtype)
    x = x + x.T
    u, values = (a.asnumpy() for a in mx.nd.linalg.syevd(mx.nd.array(x, dtype=dtype)))
    wanted = np.linalg.eigvalsh(x)
    np.testing.assert_allclose(values, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())
    np.testing.assert_allclose(u @ u.T, np.eye(300), rtol=0, atol=tolerance)
    square = mx.nd.linalg.syrk(mx.nd.array(x, dtype=dtype)).asnumpy()
    np.testing.assert_allclose(square, x @ x.T, rtol=0, atol=tolerance * np.abs(square).max())
