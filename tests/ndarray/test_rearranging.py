"""Methods and functions that rearrange and reduce, beside those that the cards' cases run."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

X = np.arange(24, dtype="float32").reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda a: a.swapaxes(0, 2), X.swapaxes(0, 2)),
        (lambda a: a.flip(axis=1), X[:, ::-1]),
        (lambda a: a.repeat(repeats=2, axis=1), X.repeat(2, 1)),
        (lambda a: a.tile(reps=(2, 1, 1)), np.tile(X, (2, 1, 1))),
        (lambda a: a.slice(begin=(None, 1), end=(None, 3)), X[:, 1:3]),
        (lambda a: a.slice_axis(axis=2, begin=1, end=None), X[:, :, 1:]),
        (lambda a: a.slice_like(mx.nd.zeros((1, 2, 3))), X[:1, :2, :3]),
        (lambda a: a.expand_dims(axis=0).squeeze(axis=0), X),
        (lambda a: a.reshape_like(mx.nd.zeros((6, 4))), X.reshape(6, 4)),
        (lambda a: a.broadcast_like(mx.nd.zeros((5, 2, 3, 4))), np.broadcast_to(X, (5, 2, 3, 4))),
        (lambda a: a.diag(k=1), X.diagonal(1)),
        (
            lambda a: a.pad(mode="edge", pad_width=(0, 0, 0, 0, 1, 1)),
            np.pad(X, [(0, 0), (0, 0), (1, 1)], "edge"),
        ),
        (lambda a: a.shape_array(), np.array([2, 3, 4])),
        (lambda a: a.size_array(), np.array([24])),
        (lambda a: a.nansum(axis=1), X.sum(1)),
        (lambda a: a.nanprod(axis=0), X.prod(0)),
        (lambda a: a.argmax_channel(), X.argmax(1)),
        (lambda a: a.norm(axis=2, ord=1), X.sum(2)),
        (lambda a: a.split(num_outputs=3, axis=1)[2], X[:, 2:]),
        (lambda a: a.zeros_like(), np.zeros_like(X)),
    ],
)
def test_methods(run, expected):
    found = run(mx.nd.array(X)).asnumpy()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_split_v2_cuts_at_indices_or_evenly():
    a = mx.nd.array(X)
    for found, expected in [
        (mx.nd.split_v2(a, (1, 3), axis=2), np.split(X, (1, 3), 2)),
        (a.split_v2(3, axis=1), np.split(X, 3, 1)),
        (mx.nd.split_v2(a, 2, squeeze_axis=True), [X[0], X[1]]),
    ]:
        assert len(found) == len(expected)
        for part, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part.asnumpy(), wanted)
    assert mx.nd.split_v2(a, 1).shape == X.shape


@pytest.mark.parametrize(("where", "word"), [(0, "at least 1"), ("x", "'x'"), (1.5, "1.5")])
def test_split_v2_says_what_it_takes(where, word):
    with pytest.raises(InvalidArgumentError, match="split_v2") as caught:
        mx.nd.split_v2(mx.nd.array(X), where)
    assert word in str(caught.value)


def test_symbols_split_too():
    x = mx.sym.Variable("x")
    for symbol in (mx.sym.split_v2(x, (1,), axis=1), x.split_v2((1,), axis=1)):
        assert len(symbol.list_outputs()) == 2
        _, shapes, _ = symbol.infer_shape(x=(2, 3, 4))
        assert shapes == [(2, 1, 4), (2, 2, 4)]


def test_slices_survive_json():
    x = mx.sym.Variable("x")
    text = mx.sym.slice(x, begin=(None, 1), end=(1, None), step=(1, 2)).tojson()
    (out,) = mx.sym.load_json(text).bind(mx.cpu(), {"x": mx.nd.array(X)}).forward()
    np.testing.assert_array_equal(out.asnumpy(), X[:1, 1::2])


def test_norms_neither_overflow_nor_vanish():
    for scale in (1e30, 1e-30):
        a = mx.nd.array(np.array([3.0, 4.0]) * scale)
        np.testing.assert_allclose(a.norm().asnumpy(), [5 * scale], rtol=1e-6)
    half = mx.nd.array([3e30, 4e30], dtype="bfloat16").norm()
    np.testing.assert_allclose(half.asnumpy(), [5e30], rtol=1e-2)


def test_nan_counts_as_nothing():
    x = np.array([[np.nan, 2, 3], [np.nan, np.nan, np.nan]])
    for dtype in ("float32", "float64", "float16"):
        a = mx.nd.array(x, dtype=dtype)
        assert a.nansum(axis=1).asnumpy().tolist() == [5, 0]
        assert a.nanprod(axis=1).asnumpy().tolist() == [6, 1]
    v = mx.sym.Variable("x")
    for op, expected in [("nansum", [[0, 1, 1], [0, 0, 0]]), ("nanprod", [[0, 3, 2], [0, 0, 0]])]:
        a = mx.nd.array(x)
        grad = mx.nd.zeros(a.shape)
        bound = getattr(mx.sym, op)(v, axis=1).bind(mx.cpu(), {"x": a}, {"x": grad})
        bound.forward(is_train=True)
        bound.backward(mx.nd.ones((2,)))
        assert grad.asnumpy().tolist() == expected


@pytest.mark.parametrize(
    ("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (-1, -2)), ((2, 0), (0, 1)), ((), ())]
)
def test_moveaxis_agrees_with_numpy(source, destination):
    found = mx.nd.moveaxis(mx.nd.array(X), source, destination)
    np.testing.assert_array_equal(found.asnumpy(), np.moveaxis(X, source, destination))


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [
        (3, 0, "axis 3 does not exist in a tensor of 3 dimensions"),
        ((0, 0), (1, 2), "given twice"),
        ((0, 1), (2,), "one length"),
    ],
)
def test_moveaxis_refuses(source, destination, message):
    with pytest.raises(InvalidArgumentError, match=message):
        mx.nd.moveaxis(mx.nd.array(X), source, destination)


@pytest.mark.parametrize(
    ("run", "shape"),
    [
        (lambda a: a.expand_dims(0, inplace=True), (1, 2, 3, 4)),
        (lambda a: a.expand_dims(-1, inplace=True), (2, 3, 4, 1)),
        (lambda a: a.expand_dims(2, inplace=True).squeeze(inplace=True), (2, 3, 4)),
        (lambda a: a.expand_dims(2, True).squeeze(axis=2, inplace=True), (2, 3, 4)),
        (lambda a: a.flatten(inplace=True), (2, 12)),
    ],
)
def test_inplace_shares_memory(run, shape):
    a = mx.nd.array(X)
    view = run(a)
    assert view.shape == shape
    view[:] = view + 1
    np.testing.assert_array_equal(a.asnumpy(), X + 1)


def test_without_inplace_memory_is_not_shared():
    a = mx.nd.array(X)
    for made in (a.expand_dims(0), a.flatten(), a.expand_dims(0).squeeze()):
        made[:] = 0
    np.testing.assert_array_equal(a.asnumpy(), X)


def test_inplace_of_shapes_without_elements():
    a = mx.nd.zeros((2, 0, 3))
    assert a.expand_dims(0, inplace=True).shape == (1, 2, 0, 3)
    assert a.flatten(inplace=True).shape == (2, 0)


def test_inplace_is_recorded():
    a = mx.nd.array(X)
    a.attach_grad()
    with mx.autograd.record():
        b = (a * a).expand_dims(0, inplace=True).flatten(inplace=True) * 3
    b.backward()
    np.testing.assert_array_equal(a.grad.asnumpy(), 6 * X)


def test_inplace_refuses():
    a = mx.nd.array(X)
    with pytest.raises(InvalidArgumentError, match="axis 5"):
        a.expand_dims(5, inplace=True)
    with pytest.raises(InvalidArgumentError, match="squeeze"):
        a.squeeze(axis=1, inplace=True)
    with pytest.raises(InvalidArgumentError, match="inplace=True needs elements in C order"):
        a[:, :, 1:3].flatten(inplace=True)


def test_slice_assign_changes_the_array():
    a, expected = mx.nd.array(X), X.copy()
    begin, end, step = (None, 2, 0), (None, None, 4), (1, -1, 2)
    values = mx.nd.array(-X[:, :2, :2])
    assert a.slice_assign(values, begin, (*end[:2], 2), (1, -2, 1)) is a
    expected[:, 2:None:-2, 0:2] = -X[:, :2, :2]
    np.testing.assert_array_equal(a.asnumpy(), expected)
    assert a.slice_assign_scalar(9, begin, end, step) is a
    expected[:, 2:None:-1, 0:4:2] = 9
    np.testing.assert_array_equal(a.asnumpy(), expected)
    with pytest.raises(InvalidArgumentError, match="'rhs' has shape"):
        a.slice_assign(values, (0,), (1,))
