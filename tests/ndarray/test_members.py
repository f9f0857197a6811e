"""Members of NDArray beside its operators, and functions over one element of each row."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix import nd

X = np.array([[1.5, -2.0, 3.0], [4.0, 5.0, -6.5]], np.float32)


def test_parts_share_memory():
    a = nd.array(X)
    assert a.as_nd_ndarray() is a
    np.testing.assert_array_equal(a._at(-1).asnumpy(), X[-1])
    np.testing.assert_array_equal(a._slice(0, 1).asnumpy(), X[:1])
    a._at(0)._full(7)
    a._slice(1, 2)._sync_copyfrom([[1, 2, 3]])
    np.testing.assert_array_equal(a.asnumpy(), [[7, 7, 7], [1, 2, 3]])
    with pytest.raises(IndexError):
        a._at(2)
    with pytest.raises(ValueError, match=r"shape \(2, 3\), the values \(3,\)"):
        a._sync_copyfrom([1, 2, 3])


def test_an_array_may_be_read_only():
    a = nd.array(X)
    fixed = nd.NDArray(a.handle, writable=False)
    assert (a.writable, fixed.writable) == (True, False)
    for act in (
        lambda: fixed.__iadd__(1),
        lambda: fixed.__setitem__(0, 1),
        lambda: fixed._full(2),
    ):
        with pytest.raises(ValueError, match="read-only NDArray"):
            act()
    np.testing.assert_array_equal((fixed * 1).asnumpy(), X)


def test_onehot_encode():
    out = nd.full((4, 3), 9)
    found = nd.onehot_encode(nd.array([1.7, 0, 5, -1]), out)
    assert found is out
    np.testing.assert_array_equal(out.asnumpy(), [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="an index for each of its rows"):
        nd.onehot_encode(nd.array([1]), out)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("axis", "mode", "index", "taken"),
    [
        (-1, "clip", [1, 0], [1, 0]),
        (1, "clip", [5, -1], [2, 0]),
        (0, "clip", [1, 0, 7], [1, 0, 1]),
        (-2, "wrap", [3, -1, 2], [1, 1, 0]),
        (1, "wrap", [4, -1], [1, 2]),
    ],
)
def test_choose_element_0index(axis, mode, index, taken, keepdims):
    found = nd.choose_element_0index(
        nd.array(X), nd.array(index), axis=axis, keepdims=keepdims, mode=mode
    )
    expected = np.take_along_axis(X, np.expand_dims(taken, axis), axis)
    np.testing.assert_array_equal(found.asnumpy(), expected if keepdims else expected.squeeze(axis))


def test_choosing_has_a_gradient_and_refuses_what_does_not_fit():
    x = nd.array([[1, np.inf], [np.nan, 4]])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.choose_element_0index(x, nd.array([0, 1])) * 3
    y.backward()
    assert y.asnumpy().tolist() == [3, 12]
    assert x.grad.asnumpy().tolist() == [[3, 0], [0, 3]]
    with pytest.raises(ValueError, match=r"choose_element_0index|pick"):
        nd.choose_element_0index(x, nd.array([0, 1, 0]))
    with pytest.raises(ValueError, match="mode"):
        nd.choose_element_0index(x, nd.array([0, 1]), mode="none")


def test_fill_element_0index():
    lhs, mhs = nd.array(X), nd.array([9, 8])
    found = nd.fill_element_0index(lhs, mhs, nd.array([1, 5]))
    np.testing.assert_array_equal(found.asnumpy(), [[1.5, 9, 3], [4, 5, -6.5]])
    nd.fill_element_0index(lhs, mhs, nd.array([0, 2]), out=lhs)
    np.testing.assert_array_equal(lhs.asnumpy(), [[9, -2, 3], [4, 5, 8]])
    with pytest.raises(ValueError, match="fill_element_0index"):
        nd.fill_element_0index(mhs, mhs, mhs)


def test_modules_are_laid_out_as_mxnets():
    assert nd.utils.load is nd.load
    assert nd.ndarray.array is nd.array
    assert nd.ndarray.add is nd.add
    assert nd.ndarray.waitall is nd.waitall
    assert issubclass(nd.NDArray, nd.ndarray.NDArrayBase)


def test_broadcast_like():
    a, like = nd.array([[1], [2]]), nd.zeros((2, 3))
    assert a.broadcast_like(other=like).asnumpy().tolist() == [[1, 1, 1], [2, 2, 2]]
    axes = a.broadcast_like(nd.zeros((4, 5)), lhs_axes=(1,), rhs_axes=(0,))
    assert axes.shape == (2, 4)
    with pytest.raises(ValueError, match="broadcast_like"):
        nd.ones((3, 3)).broadcast_like(like)
