"""Sparse arrays: creation, conversion, copies, indexing, structure, files and pickles."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import ferromix as mx
from ferromix.dispatch import storage
from ferromix.error import FileFormatError, InvalidArgumentError, NotSupportedForSparseNDArray

nd = mx.nd
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sparse"
VALUES = np.array([[1, 0, 2], [0, 0, 3], [0, 0, 0]], np.float32)
STYPES = ("csr", "row_sparse")
DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "int8")


def random(shape, density=0.4, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stype", STYPES)
@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (0, 3), (3, 0), (70, 33)])
def test_dense_and_back(shape, stype, dtype):
    values = random(shape, dtype=dtype)
    array = nd.array(values, dtype=dtype).tostype(stype)
    array.check_format()
    assert (array.stype, array.shape, array.dtype) == (stype, shape, np.dtype(dtype).type)
    np.testing.assert_array_equal(array.asnumpy(), values)
    np.testing.assert_array_equal(array.tostype("default").asnumpy(), values)
    if stype == "csr":
        expected = sp.csr_matrix(values.astype(float))  # SciPy has no halves
        np.testing.assert_array_equal(array.indptr.asnumpy(), expected.indptr)
        np.testing.assert_array_equal(array.indices.asnumpy(), expected.indices)
        np.testing.assert_array_equal(array.data.asnumpy(), expected.data)
    else:
        rows = np.flatnonzero(values.any(axis=1)) if values.size else []
        np.testing.assert_array_equal(array.indices.asnumpy(), rows)
        np.testing.assert_array_equal(array.data.asnumpy(), values[rows])


@pytest.mark.parametrize("shape", [(4,), (4, 2, 3)])
def test_rows_of_any_number_of_dimensions(shape):
    values = random(shape)
    array = nd.array(values).tostype("row_sparse")
    np.testing.assert_array_equal(array.asnumpy(), values)
    with pytest.raises(InvalidArgumentError, match="two dimensions"):
        nd.array(values).tostype("csr")


def test_storage_types_that_do_not_convert():
    csr = nd.array(VALUES).tostype("csr")
    with pytest.raises(ValueError, match="cast_storage from csr to row_sparse is not supported"):
        csr.tostype("row_sparse")
    with pytest.raises(InvalidArgumentError, match="stype"):
        csr.tostype("dense")
    assert nd.cast_storage(csr, stype="default").stype == "default"
    assert nd.cast_storage(nd.array(VALUES), "row_sparse").stype == "row_sparse"


def test_csr_from_parts():
    array = nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 3]), shape=(2, 3))
    np.testing.assert_array_equal(array.asnumpy(), [[1, 0, 2], [0, 3, 0]])
    assert array.dtype == np.float32
    assert nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 3])).shape == (2, 3)
    parts = (np.array([1.0, 2, 3]), nd.array([0, 2, 1]), nd.array([0, 2, 3]))
    assert nd.sparse.csr_matrix(parts).dtype == np.float64
    assert nd.sparse.csr_matrix(parts, dtype="float16").dtype == np.float16


def test_csr_from_coordinates_adds_up():
    given = (np.array([1.0, 2, 4, 8]), ([1, 0, 1, 0], [1, 2, 1, 0]))
    array = nd.sparse.csr_matrix(given, shape=(2, 3))
    np.testing.assert_array_equal(array.asnumpy(), sp.csr_matrix(given, (2, 3)).toarray())
    array.check_format()
    assert nd.sparse.csr_matrix(given).shape == (2, 3)
    with pytest.raises(InvalidArgumentError, match=r"element 0 is at \(1, 1\)"):
        nd.sparse.csr_matrix(given, shape=(1, 3))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_scipy_both_ways(kind):
    matrix = sp.random(30, 20, 0.2, format=kind, random_state=1)
    array = nd.sparse.csr_matrix(matrix)
    assert (array.asscipy() != matrix).nnz == 0
    assert array.dtype == np.float64
    if kind == "csr":
        assert nd.array(matrix).stype == nd.sparse.array(matrix).stype == "csr"


def test_rows_from_parts():
    array = nd.sparse.row_sparse_array((np.ones((2, 3)), [0, 2]), shape=(4, 3))
    np.testing.assert_array_equal(array.asnumpy().sum(axis=1), [3, 0, 3, 0])
    assert nd.sparse.row_sparse_array((np.ones((2, 3)), [0, 2])).shape == (3, 3)
    assert nd.sparse.row_sparse_array(np.eye(3)).stype == "row_sparse"


@pytest.mark.parametrize("stype", STYPES)
def test_zeros_and_copies(stype):
    makers = {"csr": nd.sparse.csr_matrix, "row_sparse": nd.sparse.row_sparse_array}
    empty = makers[stype]((3, 4))
    for array in (empty, nd.zeros((3, 4), stype=stype), nd.sparse.zeros(stype, (3, 4))):
        assert array.stype == stype
        assert array.data.shape[0] == 0
        np.testing.assert_array_equal(array.asnumpy(), np.zeros((3, 4)))
    source = nd.array(VALUES).tostype(stype)
    for copy in (source.copy(), makers[stype](source), nd.array(source), source.copyto(mx.cpu(1))):
        assert copy.stype == stype
        np.testing.assert_array_equal(copy.asnumpy(), VALUES)
    assert source.astype("float64").dtype == np.float64
    assert source.astype("float32", copy=False) is source
    assert source.as_in_context(mx.cpu(1)).context == mx.cpu(1)
    dense = nd.zeros((3, 3))
    source.copyto(dense)
    np.testing.assert_array_equal(dense.asnumpy(), VALUES)
    other = nd.zeros((3, 3), stype=stype, dtype="float64")
    (dense * 2).copyto(other)
    np.testing.assert_array_equal(other.asnumpy(), VALUES * 2)
    unlike = nd.zeros((3, 3), stype=STYPES[stype == "csr"])
    with pytest.raises(TypeError, match="copyto does not support destination"):
        source.copyto(unlike)
    with pytest.raises(InvalidArgumentError, match="shape"):
        source.copyto(nd.zeros((2, 3)))


@pytest.mark.parametrize("stype", STYPES)
def test_assignment(stype):
    array = nd.zeros((3, 3), stype=stype)
    array[:] = nd.array(VALUES)
    np.testing.assert_array_equal(array.asnumpy(), VALUES)
    with pytest.warns(RuntimeWarning, match="not efficient"):
        array[:] = VALUES * 2
    np.testing.assert_array_equal(array.asnumpy(), VALUES * 2)
    with pytest.raises(TypeError, match=r"only supports \[:\]"):
        array[0] = 1
    with pytest.raises(ValueError, match="slice"):
        array[0:1] = 1
    if stype == "csr":
        with pytest.raises(ValueError, match="numeric"):
            array[:] = 1
    else:
        array[:] = 5
        np.testing.assert_array_equal(array.asnumpy(), np.full((3, 3), 5))
        np.testing.assert_array_equal(array.indices.asnumpy(), [0, 1, 2])
    dense = nd.zeros((3, 3))
    dense[:] = nd.array(VALUES).tostype(stype)
    np.testing.assert_array_equal(dense.asnumpy(), VALUES)


def test_slices_of_rows():
    values = random((7, 5))
    array = nd.array(values).tostype("csr")
    for key in (slice(2, 5), slice(None, 3), slice(-2, None), slice(5, 2), slice(0, 99)):
        part = array[key]
        assert part.stype == "csr"
        part.check_format()
        np.testing.assert_array_equal(part.asnumpy(), values[key])
    np.testing.assert_array_equal(array[3].asnumpy(), values[3:4])
    np.testing.assert_array_equal(array[-1].asnumpy(), values[-1:])
    assert array[:] is array
    assert [row.asnumpy().tolist() for row in array] == [[row.tolist()] for row in values]
    block = nd.slice(array, begin=(1, 2), end=(4, 4))
    assert block.stype == "csr"
    np.testing.assert_array_equal(block.asnumpy(), values[1:4, 2:4])
    with pytest.raises(IndexError):
        array[7]
    for key in ((1, 2), slice(0, 4, 2), nd.array([1])):
        with pytest.raises(ValueError):
            array[key]
    rows = array.tostype("default").tostype("row_sparse")
    assert rows[:] is rows
    with pytest.raises(ValueError, match="retain"):
        rows[1]


def test_retain():
    values = random((6, 2), 0.5)
    array = nd.array(values).tostype("row_sparse")
    for wanted in ([0, 3], [5, 1, 1], []):
        kept = array.retain(nd.array(wanted, dtype="int64"))
        expected = np.zeros_like(values)
        expected[wanted] = values[wanted]
        kept.check_format()
        np.testing.assert_array_equal(kept.asnumpy(), expected)
    assert nd.sparse.retain(array, nd.array([1])).stype == "row_sparse"
    with pytest.raises(InvalidArgumentError, match="indices"):
        array.retain(nd.array([6]))


BAD = {
    "column": ([1.0, 2], [0, 9], [0, 1, 2]),
    "negative column": ([1.0, 2], [0, -1], [0, 1, 2]),
    "falling offsets": ([1.0, 2], [0, 1], [0, 2, 1]),
    "late end": ([1.0, 2], [0, 1], [0, 1, 5]),
    "negative offset": ([1.0, 2], [0, 1], [0, -3, 2]),
    "few offsets": ([1.0, 2], [0, 1], [0, 1]),
    "many offsets": ([1.0, 2], [0, 1], [0, 1, 1, 2]),
    "huge": ([1.0, 2], [0, 2**62], [0, 1, 2]),
}
ODD = {
    "late start": ([1.0, 2], [0, 1], [1, 1, 2]),
    "unsorted": ([1.0, 2], [1, 0], [0, 2, 2]),
    "twice": ([1.0, 2], [1, 1], [0, 2, 2]),
}


@pytest.mark.parametrize("name", [*BAD, *ODD])
def test_wrong_csr_structures(name):
    parts = {**BAD, **ODD}[name]
    array = nd.sparse.csr_matrix(parts, shape=(2, 3))
    with pytest.raises(InvalidArgumentError, match="check_format"):
        array.check_format()
    if "offsets" not in name or name == "falling offsets":
        array.check_format(full_check=False)


@pytest.mark.parametrize("name", BAD)
def test_wrong_csr_structures_reach_no_memory(name):
    array = nd.sparse.csr_matrix(BAD[name], shape=(2, 3))
    calls = [
        lambda: array.tostype("default"),
        lambda: nd.dot(array, nd.ones((3, 2))),
        lambda: nd.dot(array, nd.ones((3, 1))),
        lambda: nd.dot(array, nd.ones((2, 2)), transpose_a=True),
        lambda: nd.elemwise_mul(array, nd.ones((2, 3))),
        lambda: nd.elemwise_add(array, array),
        lambda: array[0:1],
        lambda: nd.sum(array, axis=0),
        lambda: nd.sum(array, axis=1),
        lambda: nd.mean(array),
    ]
    for call in calls:
        with pytest.raises((InvalidArgumentError, mx.MXNetError)):
            call().asnumpy()


def test_unsorted_and_double_elements_are_added_up_in_products():
    for name, parts in ODD.items():
        array = nd.sparse.csr_matrix(parts, shape=(2, 3))
        if name == "late start":
            expected = np.array([[0, 0, 0], [0, 2, 0]])
        else:
            expected = sp.csr_matrix(parts, shape=(2, 3)).toarray()
        product = nd.dot(array, nd.array(np.eye(3)))
        np.testing.assert_array_equal(product.asnumpy(), expected, err_msg=name)


@pytest.mark.parametrize("rows", [[0, 9], [1, 1], [2, 1], [-1, 0]])
def test_wrong_row_structures(rows):
    array = nd.sparse.row_sparse_array((np.ones((2, 3)), rows), shape=(4, 3))
    with pytest.raises(InvalidArgumentError, match="check_format"):
        array.check_format()
    if max(rows) > 3 or min(rows) < 0:
        with pytest.raises(mx.MXNetError, match="row"):
            array.asnumpy()
        with pytest.raises(mx.MXNetError, match=r"row|format"):
            (array + array).asnumpy()


def test_parts_that_do_not_go_together():
    for parts in (([1.0, 2, 3], [1, 2], [0, 1, 2]), ([1.0], [0], []), (1, [0], [0, 1])):
        with pytest.raises(InvalidArgumentError):
            nd.sparse.csr_matrix(parts, shape=(2, 3))
    with pytest.raises(InvalidArgumentError, match="one index for each row"):
        nd.sparse.row_sparse_array((np.ones((2, 3)), [0]), shape=(4, 3))
    with pytest.raises(InvalidArgumentError, match="fit into"):
        nd.sparse.row_sparse_array((np.ones((2, 3)), [0, 1]), shape=(4, 2))
    with pytest.raises(ValueError, match="Shape mismatch"):
        nd.sparse.csr_matrix(nd.zeros((2, 3), stype="csr"), shape=(2, 2))
    with pytest.raises(ValueError, match="length of input tuple"):
        nd.sparse.csr_matrix((1, 2, 3, 4))
    with pytest.raises(ValueError, match="Unexpected input type"):
        nd.sparse.csr_matrix(nd.zeros((2, 3), stype="row_sparse"))
    with pytest.raises(ValueError, match="unknown storage type"):
        nd.sparse.zeros("dense", (2, 2))
    with pytest.raises(ValueError, match=r"nd\.array"):
        nd.sparse.array(np.ones((2, 2)))


@pytest.mark.parametrize("stype", STYPES)
def test_what_describes_an_array(stype, monkeypatch):
    monkeypatch.setattr(storage, "_warned", set())
    array = nd.array(VALUES).tostype(stype)
    name = {"csr": "CSRNDArray", "row_sparse": "RowSparseNDArray"}[stype]
    assert repr(array) == f"\n<{name} 3x3 @cpu(0)>"
    assert (len(array), array.ndim) == (3, 2)
    assert array.indices.dtype == np.int64
    with pytest.raises(NotSupportedForSparseNDArray, match="reshape"):
        array.reshape((9,))
    with pytest.raises(TypeError):
        float(array)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(array)
    with pytest.warns(UserWarning, match="storage type fallback"):
        np.testing.assert_array_equal(array.T.asnumpy(), VALUES.T)


@pytest.mark.parametrize("stype", STYPES)
def test_pickles(stype):
    array = nd.array(VALUES, dtype="float64").tostype(stype)
    again = pickle.loads(pickle.dumps(array))
    assert (again.stype, again.dtype) == (stype, np.float64)
    np.testing.assert_array_equal(again.asnumpy(), VALUES)


def test_files_of_mxnet():
    arrays = nd.load(str(GOLDEN / "mixed.params"))
    expected = {"csr": "csr", "rows": "row_sparse", "dense": "default"}
    for name, stype in expected.items():
        assert arrays[name].stype == stype
        np.testing.assert_array_equal(arrays[name].asnumpy(), VALUES)
    assert arrays["rows"].dtype == np.float64
    for name, stype in {"no elements": "csr", "no rows": "row_sparse"}.items():
        assert (arrays[name].stype, arrays[name].shape) == (stype, (2, 3))
        np.testing.assert_array_equal(arrays[name].asnumpy(), np.zeros((2, 3)))


def test_files_are_those_of_mxnet(tmp_path):
    names = ("csr", "rows", "dense")
    dense = nd.array(VALUES)
    arrays = {
        "csr": dense.tostype("csr"),
        "rows": dense.astype("float64").tostype("row_sparse"),
        "dense": dense.astype("int32"),
    }
    path = tmp_path / "own.params"
    nd.save(str(path), arrays)
    again = nd.load(str(path))
    for name in names:
        assert again[name].stype == arrays[name].stype
        np.testing.assert_array_equal(again[name].asnumpy(), VALUES)
    # The three arrays precede the empty ones in MXNet's file.
    own, other = path.read_bytes(), (GOLDEN / "mixed.params").read_bytes()
    end = own.index(b"\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0csr")
    assert own[24:end] == other[24:end]


def test_damaged_files(tmp_path):
    good = (GOLDEN / "mixed.params").read_bytes()
    path = tmp_path / "bad.params"
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        bad = bytearray(good)
        bad[rng.integers(24, len(bad))] = rng.integers(256)
        path.write_bytes(bytes(bad))
        try:
            for array in nd.load(str(path)).values():
                array.asnumpy()
        except (FileFormatError, mx.MXNetError):
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("stype", STYPES)
def test_what_is_never_a_dense_array_uses_no_memory(stype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = nd.zeros((10**6, 10**7), stype="row_sparse") if stype != "csr" else None
        if array is None:
            array = nd.sparse.csr_matrix(([1.0], [10**11], [0, 1]), shape=(1, 10**12))
        assert array.shape[1] >= 10**7
        assert (array * 2).stype == stype
