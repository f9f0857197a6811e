"""What is said of keys, and of elements that are no numbers."""

import numpy as np
import pytest

import ferromix as mx

ALL = slice(None)


@pytest.mark.parametrize(
    ("key", "parts", "truth"),
    [
        (1, (1, ALL, ALL), -1),
        ((..., 1), (ALL, ALL, 1), -1),
        ((None, ..., None, 1), (None, ALL, ALL, None, 1), -1),
        ((), (ALL, ALL, ALL), -1),
        ([1, 2], ([1, 2], ALL, ALL), -1),
        ((1, 2, 3, 4), (1, 2, 3, 4), -1),
        (True, (ALL, ALL, ALL), 1),
        ((True, False, 1), (1, ALL, ALL), 0),
    ],
)
def test_axes_that_a_key_leaves_out(key, parts, truth):
    assert mx.nd.indexing_key_expand_implicit_axes(key, (3, 4, 5)) == (parts, truth)


def test_truth_values_take_as_many_axes_as_they_have():
    expand = mx.nd.indexing_key_expand_implicit_axes
    assert expand(np.ones((3, 4), bool), (3, 4, 5))[0][1:] == (ALL,)
    with pytest.raises(IndexError, match="one ellipsis"):
        expand((..., ...), (2,))
    check = mx.nd.ndarray.check_boolean_array_dimension
    check((3, 4, 5), 1, (4, 5))
    for axis, shape in [(1, (3,)), (1, (4, 5)), (0, (3, 5))]:
        with pytest.raises(IndexError, match="truth values"):
            check((3, 4), axis, shape)


def test_kinds_of_keys():
    code = mx.nd.get_indexing_dispatch_code
    assert [code(key) for key in [(1, None), (ALL, ...), (), (1, [1])]] == [0, 0, 0, 1]
    assert code((mx.nd.array([1]),)) == code((ALL, np.array([1]))) == 1
    with pytest.raises(ValueError, match="must be a tuple"):
        code(1)
    with pytest.raises(ValueError, match="'a'"):
        code((1, "a"))


def test_shapes_of_gather_nd():
    shape = mx.nd.get_oshape_of_gather_nd_op
    for data, indices in [((3, 4, 5), (2, 6, 7)), ((3, 4), (2, 1)), ((3,), (1, 2))]:
        out = mx.nd.gather_nd(mx.nd.zeros(data), mx.nd.zeros(indices))
        assert shape(data, indices) == out.shape
    for data, indices in [((3, 4), (3, 6)), ((3,), ()), ((), (1, 2))]:
        with pytest.raises(ValueError, match="indices of shape"):
            shape(data, indices)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_elements_that_are_no_numbers(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1, 0], dtype)
    for name in ("isfinite", "isinf", "isnan"):
        found = getattr(mx.nd.contrib, name)(mx.nd.array(x, dtype=dtype))
        assert found.dtype == x.dtype
        assert found.asnumpy().tolist() == getattr(np, name)(x).astype(dtype).tolist()
        with pytest.raises(TypeError, match=f"{name}|NDArray"):
            getattr(mx.nd.contrib, name)(3)


def test_integers_are_finite():
    x = mx.nd.array([1, 2], dtype="int32")
    assert mx.nd.contrib.isfinite(x).asnumpy().tolist() == [1, 1]
    assert mx.nd.contrib.isnan(x).asnumpy().tolist() == [0, 0]
