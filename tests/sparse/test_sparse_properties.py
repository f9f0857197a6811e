"""Random sparse arrays of every kind against SciPy, and steps on rows against dense ones."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import ferromix as mx

nd = mx.nd
SHAPES = [(1, 1), (0, 4), (4, 0), (3, 7), (40, 25), (130, 300)]
DTYPES = ["float16", "float32", "float64"]
WIDTHS = [1, 2, 3, 7, 8, 15, 16, 17, 33]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def whole(rng, shape, dtype):
    """Small whole numbers, whose sums of products are exact in every type."""
    return rng.integers(-3, 4, shape).astype(dtype)


def parts(rng, shape, dtype, index_type, tidy):
    """Parts of a csr array; unless it is tidy, columns are in any order, some are there twice."""
    height, width = shape
    lengths = rng.integers(0, min(width, 9) + 1, height) * (rng.random(height) < 0.7)
    rows = [rng.choice(width, n, replace=not tidy) if n else np.zeros(0, int) for n in lengths]
    rows = [np.sort(row) if tidy else row for row in rows]
    columns = np.concatenate([*rows, np.zeros(0, int)]).astype(index_type)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(index_type)
    return whole(rng, len(columns), dtype), columns, offsets


def pair(seed, shape, dtype="float32", tidy=True):
    """A csr array and what it is in SciPy."""
    rng = np.random.default_rng(seed)
    given = parts(rng, shape, dtype, ["int32", "int64"][seed % 2], tidy)
    wider = (given[0].astype("float64"), *given[1:])
    return nd.sparse.csr_matrix(given, shape=shape, dtype=dtype), sp.csr_matrix(wider, shape=shape)


@pytest.mark.parametrize("tidy", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products(shape, dtype, tidy):
    for seed, width in enumerate(WIDTHS):
        ours, theirs = pair(seed, shape, dtype, tidy)
        rng = np.random.default_rng(seed)
        right, left = (whole(rng, (n, width), dtype) for n in (shape[1], shape[0]))
        found = nd.dot(ours, nd.array(right, dtype=dtype))
        np.testing.assert_array_equal(found.asnumpy(), theirs @ right.astype("float64"))
        expected = theirs.T @ left.astype("float64")
        rows = nd.dot(ours, nd.array(left, dtype=dtype), transpose_a=True)
        np.testing.assert_array_equal(rows.asnumpy(), expected)
        np.testing.assert_array_equal(rows.indices.asnumpy(), np.unique(theirs.indices))
        attrs = {"transpose_a": True, "forward_stype": "default"}
        dense = nd.dot(ours, nd.array(left, dtype=dtype), **attrs)
        np.testing.assert_array_equal(dense.asnumpy(), expected)


@pytest.mark.parametrize("tidy", [True, False])
@pytest.mark.parametrize("width", [8, 13, 16, 40])
def test_transposed_products_made_by_parts(width, tidy):
    ours, theirs = pair(width, (700, 9000), "float64", tidy)
    left = whole(np.random.default_rng(1), (700, width), "float64")
    expected = theirs.T @ left
    rows = nd.dot(ours, nd.array(left, dtype="float64"), transpose_a=True)
    np.testing.assert_array_equal(rows.asnumpy(), expected)
    dense = nd.dot(ours, nd.array(left, dtype="float64"), transpose_a=True, forward_stype="default")
    np.testing.assert_array_equal(dense.asnumpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_arithmetic_and_blocks(shape, dtype):
    for seed in range(4):
        (a, x), (b, y) = pair(seed, shape, dtype), pair(seed + 10, shape, dtype)
        for ours, theirs in (
            (a + b, x + y),
            (a - b, x - y),
            (a * b, x.multiply(y)),
            (a * 2, x * 2),
            (nd.concat(a, b, dim=0), sp.vstack([x, y])),
            (a[shape[0] // 3 : shape[0] // 2 + 1], x[shape[0] // 3 : shape[0] // 2 + 1]),
        ):
            assert ours.stype == "csr"
            ours.check_format()
            np.testing.assert_array_equal(ours.asnumpy(), theirs.toarray())
        for axis in (0, 1):
            expected = np.asarray(x.sum(axis=axis)).ravel()
            np.testing.assert_array_equal(nd.sum(a, axis=axis).asnumpy(), expected)


STEPS = {
    "sgd_update": ([], {"lr": 0.5, "wd": 0.25, "rescale_grad": 0.5, "clip_gradient": 1.0}),
    "sgd_mom_update": (["wide"], {"lr": 0.5, "momentum": 0.5, "wd": 0.25}),
    "adam_update": (["wide", "wide"], {"lr": 0.5, "wd": 0.125}),
    "ftrl_update": (["wide", "wide"], {"lr": 0.5, "lamda1": 0.01}),
    "sparse.adagrad_update": (["wide"], {"lr": 0.5, "epsilon": 1e-3}),
    "contrib.group_adagrad_update": (["narrow"], {"lr": 0.5, "rescale_grad": 0.5}),
}


def function(name):
    place, _, last = name.rpartition(".")
    return getattr(getattr(nd, place) if place else nd, last)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 1), (40, 3), (9, 700), (6, 2, 5), (3000, 1), (4, 0)])
@pytest.mark.parametrize("name", STEPS)
def test_steps_on_rows_are_those_of_dense_rows(name, shape, dtype):
    kinds, attrs = STEPS[name]
    if "group" in name and dtype == "float16":
        pytest.skip("takes float32 and float64")
    # FTRL changes every row of a dense weight; a row of no elements is never stored.
    weights = ["default"] * (name != "ftrl_update") + ["row_sparse"] * (0 not in shape)
    rng, step = np.random.default_rng(3), function(name)
    rows = np.flatnonzero(rng.random(shape[0]) < 0.6)
    for stype in weights:
        weight = nd.array(rng.normal(size=shape), dtype=dtype)
        widths = {"wide": shape, "narrow": (shape[0], *(1,) * (len(shape) - 1))}
        states = [nd.array(rng.random(widths[k]), dtype=dtype) for k in kinds]
        values = rng.normal(size=(len(rows), *shape[1:])).astype(dtype)
        grad = nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype)
        expected = [weight.asnumpy().copy(), *(s.asnumpy().copy() for s in states)]
        chosen = [nd.array(e[rows], dtype=dtype) for e in expected]
        step(chosen[0], nd.array(values, dtype=dtype), *chosen[1:], out=chosen[0], **attrs)
        for whole_array, part in zip(expected, chosen, strict=True):
            whole_array[rows] = part.asnumpy()
        given = [a.tostype(stype) for a in (weight, *states)]
        step(given[0], grad, *given[1:], out=given[0], **attrs)
        for found, want in zip(given, expected, strict=True):
            np.testing.assert_array_equal(found.asnumpy(), want)


def test_rows_that_are_there_twice_are_stepped_on_one_after_the_other():
    weight = nd.zeros((4, 600))
    rows = np.array([2, 0, 2, 2])
    values = np.repeat(np.float32([1, 2, 4, 8])[:, None], 600, 1)
    grad = nd.sparse.row_sparse_array((values, rows), shape=(4, 600))
    nd.sgd_update(weight, grad, lr=1.0, out=weight)
    expected = np.repeat(np.float32([-2, 0, -13, 0])[:, None], 600, 1)
    np.testing.assert_array_equal(weight.asnumpy(), expected)


def test_states_with_some_rows_get_the_others():
    weight = nd.ones((4, 2)).tostype("row_sparse")
    momentum = nd.sparse.row_sparse_array((np.ones((1, 2)), [1]), shape=(4, 2), dtype="float32")
    grad = nd.sparse.row_sparse_array((np.ones((2, 2)), [1, 3]), shape=(4, 2), dtype="float32")
    nd.sgd_mom_update(weight, grad, momentum, out=weight, lr=0.5, momentum=0.5)
    np.testing.assert_array_equal(momentum.asnumpy()[:, 0], [0, 0, 0, -0.5])
    np.testing.assert_array_equal(weight.asnumpy()[:, 0], [1, 1, 1, 0.5])


@pytest.mark.parametrize("ids", [[5], [-1], [2.5], [-0.5]])
def test_numbers_outside_of_a_sparse_table_are_refused(ids):
    table = nd.array(np.arange(6).reshape(3, 2))
    attrs = {"input_dim": 3, "output_dim": 2}
    with pytest.raises(mx.MXNetError, match="not that of a row; there are 3 rows"):
        nd.Embedding(nd.array(ids), table.tostype("row_sparse"), **attrs).wait_to_read()
    table.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = nd.Embedding(nd.array(ids), table, sparse_grad=True, **attrs)
    out.wait_to_read()
    out.backward()
    with pytest.raises(mx.MXNetError, match="Embedding: number"):
        table.grad.asnumpy()
