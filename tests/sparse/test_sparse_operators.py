"""Operators on sparse arrays: values against NumPy and SciPy, storage types against MXNet's."""

import functools
import itertools
import json
import operator
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import ferromix as mx
from ferromix import _core

nd = mx.nd
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sparse"
TYPES = json.loads((GOLDEN / "types.json").read_text())
VALUES = np.array([[1, 0, 2], [0, 0, 3], [0, 0, 0]], np.float32)
NUMBERS = {
    "plus": ("_plus_scalar", 2),
    "plus 0": ("_plus_scalar", 0),
    "minus": ("_minus_scalar", 2),
    "times": ("_mul_scalar", 2),
    "by": ("_div_scalar", 2),
    "power": ("_power_scalar", 2),
    "greater": ("_greater_scalar", 0),
    "equal": ("_equal_scalar", 0),
    "lesser": ("_lesser_scalar", 1),
    "maximum": ("_maximum_scalar", 0),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def stored(values, stype):
    return nd.array(values, dtype=values.dtype).tostype(stype)


@pytest.mark.parametrize("key", TYPES)
def test_storage_types_are_those_of_mxnet(key):
    name, _, arguments = key.rstrip(")").partition("(")
    inputs = [stored(VALUES, stype) for stype in arguments.split(", ")]
    if name in NUMBERS:
        op, scalar = NUMBERS[name]
        function = functools.partial(getattr(nd, op), scalar=scalar)
    else:
        function = getattr(nd, name)
    result = function(*inputs)
    expected = function(*(nd.array(VALUES) for _ in inputs))
    assert result.stype == TYPES[key]
    np.testing.assert_allclose(result.asnumpy(), expected.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_random_patterns(seed, dtype):
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, 80, 3)
    matrix = sp.random(m, k, rng.choice([0, 0.02, 0.3, 1]), "csr", dtype, random_state=seed)
    csr = nd.sparse.csr_matrix(matrix, dtype=dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for width in (1, n, 16, 40):
        right = rng.normal(size=(k, width)).astype(dtype)
        other = rng.normal(size=(m, width)).astype(dtype)
        dense, rows = nd.array(right, dtype=dtype), nd.array(other, dtype=dtype)
        product = nd.dot(csr, dense)
        assert product.stype == "default"
        np.testing.assert_allclose(product.asnumpy(), matrix @ right, tolerance, tolerance)
        back = nd.dot(csr, rows, transpose_a=True)
        back.check_format()
        assert back.stype == "row_sparse"
        np.testing.assert_array_equal(back.indices.asnumpy(), np.unique(matrix.indices))
        np.testing.assert_allclose(back.asnumpy(), matrix.T @ other, tolerance, tolerance)
        whole = nd.dot(csr, rows, transpose_a=True, forward_stype="default")
        assert whole.stype == "default"
        np.testing.assert_allclose(whole.asnumpy(), matrix.T @ other, tolerance, tolerance)
        left = nd.dot(rows.T, csr)
        assert left.stype == "csr"
        np.testing.assert_allclose(left.asnumpy(), other.T @ matrix, tolerance, tolerance)


def test_products_with_row_sparse_arrays():
    matrix = sp.random(20, 30, 0.2, "csr", "float32", random_state=0)
    csr = nd.sparse.csr_matrix(matrix, dtype="float32")
    for density in (0, 0.3, 1):
        values = (np.random.default_rng(1).random((30, 1)) < density) * np.ones((30, 4), "float32")
        product = nd.dot(csr, stored(values.astype("float32"), "row_sparse"))
        np.testing.assert_allclose(product.asnumpy(), matrix @ values, rtol=1e-5)


def test_products_of_halves():
    dtype = "float16"
    values = np.array([[1, 0, 2], [0, 3, 0]], dtype)
    product = nd.dot(stored(values, "csr"), nd.ones((3, 2), dtype=dtype))
    assert product.dtype == np.dtype(dtype).type
    np.testing.assert_array_equal(product.asnumpy(), values @ np.ones((3, 2), dtype))


def test_shapes_of_products_are_checked():
    with pytest.raises(mx.MXNetError, match="dot"):
        nd.dot(stored(VALUES, "csr"), nd.ones((4, 2)))
    out = nd.zeros((3, 2))
    assert nd.dot(stored(VALUES, "csr"), nd.ones((3, 2)), out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), VALUES @ np.ones((3, 2)))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("shape", [(5, 7), (0, 3), (33, 4)])
def test_arithmetic_of_two(stype, shape):
    rng = np.random.default_rng(0)
    a, b = (np.round(rng.normal(size=shape) * (rng.random(shape) < 0.4), 3) for _ in range(2))
    x, y = stored(a, stype), stored(b, stype)
    for name, function in {"add": np.add, "sub": np.subtract, "mul": np.multiply}.items():
        result = getattr(nd, f"elemwise_{name}")(x, y)
        assert result.stype == stype
        result.check_format()
        np.testing.assert_allclose(result.asnumpy(), function(a, b))
    assert (x + y).stype == (x - y).stype == (x * y).stype == stype
    dense = nd.array(b, dtype=b.dtype)
    for result in (x * dense, dense * x):
        assert result.stype == stype
        np.testing.assert_allclose(result.asnumpy(), a * b)
    np.testing.assert_allclose((x + dense).asnumpy(), a + b)
    np.testing.assert_allclose((dense - x).asnumpy(), b - a)


def test_broadcasting_keeps_csr():
    row, column = np.array([[1, 2, 4]], "float32"), np.array([[1], [2], [4]], "float32")
    csr = stored(VALUES, "csr")
    for other in (row, column, row[0]):
        for name, function in {"mul": np.multiply, "div": np.divide}.items():
            result = getattr(nd, f"broadcast_{name}")(csr, nd.array(other))
            assert result.stype == "csr"
            np.testing.assert_allclose(result.asnumpy(), function(VALUES, other))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_reductions(stype):
    values = np.round(np.random.default_rng(0).normal(size=(5, 7)) * (np.eye(5, 7) > 0), 3)
    array = stored(values, stype)
    for name, function in {"sum": np.sum, "mean": np.mean}.items():
        for axis in (None, 0, 1, -1):
            for keepdims in (False, True):
                result = getattr(nd, name)(array, axis=axis, keepdims=keepdims)
                expected = np.asarray(function(values, axis=axis, keepdims=keepdims))
                assert result.stype == "default"
                assert result.shape == (expected.shape or (1,))
                np.testing.assert_allclose(result.asnumpy(), expected.reshape(result.shape), 1e-6)
    np.testing.assert_allclose(nd.norm(array).asnumpy(), [np.linalg.norm(values)], 1e-6)
    assert nd.norm(array, keepdims=True).shape == (1, 1)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "int8", "uint8"])
def test_sums_of_a_matrix_are_those_of_its_dense_form(dtype):
    values = np.round(np.random.default_rng(1).normal(size=(4, 9)) * 40 * (np.eye(4, 9) > 0))
    values[1] *= 2
    dense = nd.array(np.abs(values), dtype=dtype)
    for name, axis in itertools.product(("sum", "mean"), (None, (), 0, 1)):
        function = getattr(nd, name)
        found, expected = function(dense.tostype("csr"), axis=axis), function(dense, axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy(), err_msg=name)
    large = nd.array(np.array([[2**62, 0], [1, 2]]), dtype="int64").tostype("csr")
    assert nd.sum(large).asnumpy().tolist() == [2**62 + 3]
    assert nd.sum(large, axis=1).asnumpy().tolist() == [2**62, 3]


def test_sums_go_by_what_is_stored():
    columns = 10**12  # no array could have one element for each
    parts = (np.array([1, 2, 3, 4.5]), [0, columns - 1, 5, 5], [0, 2, 2, 4])
    array = nd.sparse.csr_matrix(parts, shape=(3, columns), dtype="float64")
    assert nd.sum(array, axis=1).asnumpy().tolist() == [3, 0, 7.5]
    assert nd.sum(array, axis=-1, keepdims=True).asnumpy().tolist() == [[3], [0], [7.5]]
    assert nd.sum(array).asnumpy().tolist() == [10.5]
    assert nd.mean(array, axis=1).asnumpy().tolist() == [3 / columns, 0, 7.5 / columns]
    assert nd.mean(array).asnumpy().tolist() == [10.5 / (3 * columns)]
    np.testing.assert_allclose(nd.norm(array).asnumpy(), [np.sqrt(1 + 4 + 9 + 4.5**2)])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_in_place(stype):
    array = stored(VALUES, stype)
    same = array
    array *= 2
    array += stored(VALUES, stype)
    array /= 4
    assert array is same
    assert array.stype == stype
    np.testing.assert_allclose(array.asnumpy(), VALUES * 0.75)
    array += 1
    np.testing.assert_allclose(array.asnumpy(), VALUES * 0.75 + 1)


def test_concatenation_and_sums_of_several():
    csr, rows = stored(VALUES, "csr"), stored(VALUES, "row_sparse")
    below = nd.concat(csr, csr[0:2], dim=0)
    assert below.stype == "csr"
    below.check_format()
    np.testing.assert_array_equal(below.asnumpy(), np.vstack([VALUES, VALUES[:2]]))
    np.testing.assert_array_equal(nd.concat(csr, csr, dim=1).asnumpy(), np.hstack([VALUES] * 2))
    total = nd.add_n(rows, rows, rows)
    assert total.stype == "row_sparse"
    np.testing.assert_array_equal(total.asnumpy(), VALUES * 3)
    assert nd.add_n(*[csr, csr]).stype == "default"
    np.testing.assert_array_equal(nd.stack(csr, csr).asnumpy(), np.stack([VALUES] * 2))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_clip(stype):
    array = stored(VALUES, stype)
    assert nd.clip(array, -1, 1).stype == stype
    np.testing.assert_array_equal(nd.clip(array, 0, 2).asnumpy(), VALUES.clip(0, 2))
    np.testing.assert_array_equal(nd.clip(array, 1, 2).asnumpy(), VALUES.clip(1, 2))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_embedding(dtype):
    table = np.arange(12, dtype="float32").reshape(4, 3)
    numbers = np.array([[3, 0], [1, 3]], dtype)
    attrs = {"input_dim": 4, "output_dim": 3}
    data = nd.array(numbers, dtype=dtype)
    for weight in (nd.array(table), stored(table, "row_sparse")):
        out = nd.Embedding(data, weight, **attrs)
        np.testing.assert_array_equal(out.asnumpy(), table[numbers.astype(int)])
    far = nd.Embedding(nd.array([99, -5]), nd.array(table), **attrs)
    np.testing.assert_array_equal(far.asnumpy(), table[[3, 0]])


def test_results_do_not_depend_on_the_number_of_threads():
    matrix = sp.random(4000, 3000, 0.01, "csr", "float32", random_state=0)
    csr = nd.sparse.csr_matrix(matrix, dtype="float32")
    right = nd.array(np.random.default_rng(0).normal(size=(3000, 40)))
    back = nd.array(np.random.default_rng(1).normal(size=(4000, 40)))

    def results():
        return [
            nd.dot(csr, right).asnumpy(),
            nd.dot(csr, back, transpose_a=True).asnumpy(),
        ]

    first = results()
    with mx.engine.threads(1):
        second = results()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_errors_of_workers_name_the_operator():
    array = nd.sparse.csr_matrix(([1.0], [5], [0, 1]), shape=(1, 3))
    product = nd.dot(array, nd.ones((3, 2)))
    with pytest.raises(mx.MXNetError, match=r"column 5.*3 columns"):
        product.asnumpy()
    _core.wait_all()


def test_products_with_more_columns_than_memory_has_bits():
    columns = [5, 2**40 - 1, 5]
    a = nd.sparse.csr_matrix(
        (np.array([1, 2, 3], "float32"), columns, [0, 1, 2, 3]), shape=(3, 2**40)
    )
    found = nd.dot(a, nd.array([[1, 2], [3, 4], [5, 6]]), transpose_a=True)
    assert found.stype == "row_sparse"
    assert found.indices.asnumpy().tolist() == [5, 2**40 - 1]
    np.testing.assert_array_equal(found.data.asnumpy(), [[16, 20], [6, 8]])


def test_parts_are_copies():
    for a in (nd.array(VALUES).tostype("csr"), nd.sparse.row_sparse_array(np.ones((3, 2)))):
        before, twice = a.asnumpy(), a * 2
        a.data[:] = 9
        a.indices[:] = 0
        np.testing.assert_array_equal(a.asnumpy(), before)
        np.testing.assert_array_equal(twice.asnumpy(), 2 * before)


def test_bound_graphs_of_dense_arguments_may_have_sparse_results():
    x = mx.nd.array([[0, 1], [0, 0], [2, 0]])
    y = mx.sym.cast_storage(mx.sym.var("x") * 2, stype="row_sparse")
    (found,) = y.bind(mx.cpu(), {"x": x}).forward()
    assert found.stype == "row_sparse"
    np.testing.assert_array_equal(found.asnumpy(), [[0, 2], [0, 0], [4, 0]])


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("places", [[2, 0], [1, 1, 1, 2], [-1, 3, 7], [], [1.7]])
def test_rows_taken_of_a_csr_array(mode, places):
    values = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    values[np.abs(values) < 0.6] = 0
    found = nd.take(stored(values, "csr"), nd.array(places), mode=mode)
    found.check_format()
    assert found.stype == "csr"
    expected = np.take(values, np.array(places).astype(int), axis=0, mode=mode)
    np.testing.assert_array_equal(found.asnumpy(), expected)


def test_rows_taken_of_a_csr_array_in_other_ways():
    matrix = stored(VALUES, "csr")
    assert nd.take(matrix, nd.array([0]), mode="raise").stype == "default"
    assert nd.take(matrix, nd.array([0]), axis=1).stype == "default"
    with pytest.raises(mx.MXNetError, match=r"take: .*one axis, got the shape \(1, 2\)"):
        nd.take(matrix, nd.array([[0, 1]]))
    with pytest.raises(mx.MXNetError, match=r"take: .*nothing along axis 0"):
        nd.take(nd.sparse.zeros("csr", (0, 3)), nd.array([0]))


@pytest.mark.parametrize("stype", ["csr", "row_sparse", "default"])
def test_products_of_dense_arrays_in_a_storage_type(stype):
    a, b = nd.array(VALUES), nd.array(VALUES + 1)
    b.attach_grad()
    with mx.autograd.record():
        found = nd.dot(a, b, forward_stype=stype)
    found.backward()
    assert found.stype == stype
    np.testing.assert_array_equal(found.asnumpy(), VALUES @ (VALUES + 1))
    np.testing.assert_array_equal(b.grad.asnumpy(), VALUES.T @ np.ones_like(VALUES))
    symbol = mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), forward_stype=stype)
    assert symbol.eval(a=a, b=b)[0].stype == stype


def test_no_zeros_are_stored_of_sums_and_products_of_csr_arrays():
    a, b = sp.csr_matrix(VALUES), sp.csr_matrix(np.flipud(VALUES))
    for function in (operator.sub, operator.add, operator.mul):
        found = function(nd.sparse.csr_matrix(a), nd.sparse.csr_matrix(b))
        expected = sp.csr_matrix(function(a.toarray(), b.toarray()))
        assert found.indptr.asnumpy().tolist() == expected.indptr.tolist()
        assert found.indices.asnumpy().tolist() == expected.indices.tolist()
    same = nd.sparse.csr_matrix(a)
    assert (same - same).indices.shape == (0,)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_none_is_no_value(stype):
    with pytest.raises(TypeError, match="None is no value"):
        stored(VALUES, stype)[:] = None
