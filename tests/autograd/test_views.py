"""Views and picked elements on the tape."""

import numpy as np
import pytest

import ferromix as mx

ag = mx.autograd
VALUES = np.arange(24.0).reshape(2, 3, 4)

BASIC = [
    0,
    -1,
    (0, 1),
    (1, 2, 3),
    slice(None),
    slice(0, 0),
    slice(1, None),
    slice(None, None, -1),
    (slice(None), slice(0, 3, 2)),
    (Ellipsis, slice(None, None, -2)),
    (slice(None), None, 1),
    (0, Ellipsis, None, slice(1, 3)),
]
PICKS = [
    np.array([0, 0, 1]),
    (slice(None), np.array([2, 0, 2, 2])),
    (np.array([0, 1]), slice(None), np.array([3, 3])),
    VALUES % 5 > 2,
]


def check(key, dtype="float64"):
    x = mx.nd.array(VALUES, dtype=dtype)
    x.attach_grad()
    taken = VALUES[key]
    weights = np.arange(1.0, 1 + np.size(taken)).reshape(np.shape(taken))
    with ag.record():
        part = x[as_nd(key)]
        y = part * part
    np.testing.assert_array_equal(part.asnumpy().reshape(np.shape(taken)), taken)
    y.backward(mx.nd.array(weights.reshape(part.shape), dtype=dtype))
    expected = np.zeros_like(VALUES)
    np.add.at(expected, key, 2 * taken * weights)
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def as_nd(key):
    if isinstance(key, tuple):
        return tuple(map(as_nd, key))
    return mx.nd.array(key, dtype=key.dtype) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_indices(key):
    check(key)


@pytest.mark.parametrize("key", PICKS, ids=["first", "second", "pairs", "mask"])
def test_indices_with_arrays(key):
    check(key)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_other_types(dtype):
    x = mx.nd.array([1, 2, 3], dtype=dtype)
    x.attach_grad()
    with ag.record():
        y = x[1:] * x[:2]
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4, 2])


def test_views_share_memory_as_ever():
    x = mx.nd.array(VALUES)
    x.attach_grad()
    with ag.record():
        part = x[0]
    x[:] = 0
    np.testing.assert_array_equal(part.asnumpy(), np.zeros((3, 4)))


@pytest.mark.parametrize("shape", [(6, 4), (-1,), (0, -3), (2, 3, 2, 2)])
def test_reshape(shape):
    x = mx.nd.array(VALUES)
    x.attach_grad()
    with ag.record():
        flat = x.reshape(shape)
        y = flat * flat + x.T.reshape((24,)).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * VALUES + 24)


def test_iteration():
    x = mx.nd.array([1, 2, 3])
    x.attach_grad()
    with ag.record():
        total = mx.nd.zeros((1,))
        for i, part in enumerate(x):
            total = total + part * (i + 1)
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, 2, 3])


@pytest.mark.parametrize("key", [slice(None, None, 2), np.array([0, 0, 2])], ids=["view", "pick"])
def test_second_derivatives_go_through(key):
    values = np.array([1.0, 2.0, 3.0])
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with ag.record():
        part = x[as_nd(key)]
        (first,) = ag.grad(part * part * part, x, create_graph=True)
    first.backward()
    expected = np.zeros(3)
    np.add.at(expected, key, 6 * values[key])
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_a_view_as_the_only_way_with_both_requests():
    for request, expected in (("write", [0, 1, 0]), ("add", [0, 2, 0])):
        x = mx.nd.array([1, 2, 3])
        x.attach_grad(request)
        for _ in range(2):
            with ag.record():
                y = x[1:2]
            y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), expected)
