"""What iterators of one's own make of arrays that are given to them, as MXNet's do."""

import numpy as np
import pytest

import ferromix as mx

CSR = mx.nd.sparse.CSRNDArray


def described(found):
    return [(name, type(array).__name__, array.shape) for name, array in found]


@pytest.mark.parametrize("where", [mx.io, mx.io.io, mx.io.utils], ids=["io", "io.io", "io.utils"])
def test_arrays_get_names(where):
    init = where._init_data
    matrix = np.ones((2, 3))
    assert described(init(matrix, False, "data")) == [("data", "NDArray", (2, 3))]
    assert described(init([matrix], allow_empty=False, default_name="x")) == [
        ("x", "NDArray", (2, 3))
    ]
    assert [name for name, _ in init([matrix, matrix], False, "x")] == ["_0_x", "_1_x"]
    assert [name for name, _ in init({"b": matrix, "a": matrix}, False, "x")] == ["a", "b"]
    csr = mx.nd.ones((2, 3)).tostype("csr")
    assert described(init(csr, False, "data")) == [("data", "CSRNDArray", (2, 3))]
    assert init(None, True, "label") == init([], True, "label") == []


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_there_must_be_some(nothing):
    with pytest.raises(mx.MXNetError, match="there is no array in"):
        mx.io._init_data(nothing, False, "data")


def test_kinds_of_arrays_are_found():
    dense = [("a", mx.nd.ones((2, 2)))]
    mixed = [*dense, ("b", mx.nd.ones((2, 2)).tostype("csr"))]
    assert mx.io.utils._has_instance(mixed, CSR)
    assert not mx.io.utils._has_instance(dense, CSR)


def test_samples_are_taken_in_an_order():
    csr = mx.nd.array([[1, 0], [0, 2], [3, 0]]).tostype("csr")
    found = mx.io.utils._getdata_by_idx([("b", mx.nd.arange(3)), ("a", csr)], np.array([2, 0]))
    assert [name for name, _ in found] == ["b", "a"]
    assert found[0][1].asnumpy().tolist() == [2, 0]
    assert found[1][1].asnumpy().tolist() == [[3, 0], [1, 0]]
