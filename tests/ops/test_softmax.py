"""Softmax of the first elements of each position, and softmax from one type to another."""

import numpy as np
import pytest
from scipy import special

import ferromix as mx
from ferromix.error import InvalidArgumentError

HALVES = ("float16", "bfloat16")
FLOATS = ("float64", "float32", *HALVES)
ROUNDING = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}
FUNCTIONS = {
    "softmax": special.softmax,
    "softmin": lambda x, axis=-1: special.softmax(-x, axis),
    "log_softmax": special.log_softmax,
}


def masked(x, length, axis, temperature=1.0):
    """Position by position."""
    rows = np.moveaxis(x, axis, -1)
    out = np.zeros_like(rows)
    for place in np.ndindex(rows.shape[:-1]):
        n = min(max(int(length[place]), 0), rows.shape[-1])
        out[place][:n] = special.softmax(rows[place][:n] / temperature) if n else 0
    return np.moveaxis(out, -1, axis)


def masked_gradient(x, length, axis, g, temperature=1.0):
    y = masked(x, length, axis, temperature)
    g = np.where(y != 0, g, 0)
    return y * (g - (g * y).sum(axis, keepdims=True)) / temperature


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((5,), 0), ((3, 70), 0)]
)
def test_lengths(shape, axis, dtype, kind):
    random = np.random.default_rng(0)
    x = random.standard_normal(shape).astype("float16").astype("float64")
    length = random.integers(-1, shape[axis] + 2, np.delete(shape, axis))
    length = np.asarray(length if length.ndim else [length])
    data, count = mx.nd.array(x, dtype=dtype), mx.nd.array(length, dtype=kind)
    if len(shape) == 1:
        count = mx.nd.array(np.array(length[0]), dtype=kind).reshape(())
        length = length[0]
    head = random.standard_normal(shape).astype("float16").astype("float64")
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.softmax(data, length=count, axis=axis, temperature=0.5, use_length=True)
    out.backward(mx.nd.array(head, dtype=dtype))
    close = {"rtol": 0, "atol": 8 * ROUNDING[dtype]}
    expected = masked(x, length, axis, 0.5)
    np.testing.assert_allclose(out.astype("float64").asnumpy(), expected, **close)
    expected = masked_gradient(x, length, axis, head, 0.5)
    np.testing.assert_allclose(data.grad.astype("float64").asnumpy(), expected, **close)


def test_what_is_beyond_a_length_does_not_matter():
    x, length = mx.nd.array([[1, 1, np.nan, np.inf]]), mx.nd.array([2], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        out = mx.nd.softmax(x, length, use_length=True)
    out.backward(mx.nd.array([[1, 3, np.nan, np.inf]]))
    assert out.asnumpy().tolist() == [[0.5, 0.5, 0, 0]]
    assert x.grad.asnumpy().tolist() == [[-0.5, 0.5, 0, 0]]


def test_lengths_have_second_derivatives():
    random = np.random.default_rng(1)
    x, head, along = (random.standard_normal((3, 4)) for _ in range(3))
    length = np.array([4, 2, 0])
    data, count = mx.nd.array(x, dtype="float64"), mx.nd.array(length, dtype="int64")
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.softmax(data, length=count, use_length=True)
        head_array = mx.nd.array(head, dtype="float64")
        (first,) = mx.autograd.grad(out, [data], head_array, create_graph=True)
    first.backward(mx.nd.array(along, dtype="float64"))
    moved = (masked_gradient(x + s * 1e-6 * along, length, -1, head) for s in (1, -1))
    expected = next(moved) - next(moved)
    direction = (along * expected).sum() / 2e-6
    np.testing.assert_allclose((data.grad.asnumpy() * along).sum(), direction, rtol=1e-7)


def test_shapes_and_types_of_lengths():
    data, length = mx.sym.Variable("data"), mx.sym.Variable("length")
    symbol = mx.sym.softmax(data, length, axis=1, use_length=True)
    assert symbol.list_arguments() == ["data", "length"]
    assert symbol.infer_shape(data=(2, 3, 4))[0] == [(2, 3, 4), (2, 4)]
    auto = mx.sym.softmax(data, axis=1, use_length=True, name="s")
    assert auto.list_arguments() == ["data", "s_length"]
    x = mx.nd.ones((2, 3))
    with pytest.raises(InvalidArgumentError, match=r"'length' of .* float32 .* int32, int64"):
        mx.nd.softmax(x, length=mx.nd.ones((2,)), use_length=True)
    with pytest.raises(InvalidArgumentError, match=r"'length' has shape \(3,\), expected \(2,\)"):
        mx.nd.softmax(x, length=mx.nd.ones((3,), dtype="int32"), use_length=True)


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("wanted", FLOATS)
@pytest.mark.parametrize("given", FLOATS)
def test_from_one_type_to_another(op, given, wanted):
    random = np.random.default_rng(2)
    x = random.standard_normal((3, 5)).astype("float16").astype("float64")
    x[0, 0] = 60000 if given == "float16" else 10
    head = random.standard_normal((3, 5)).astype("float16").astype("float64")
    data = mx.nd.array(x, dtype=given)
    data.attach_grad()
    values = data.astype("float64").asnumpy()
    with mx.autograd.record():
        out = getattr(mx.nd, op)(data, dtype=wanted)
    assert out.dtype_name == wanted
    expected = FUNCTIONS[op](values, axis=-1)
    np.testing.assert_allclose(
        out.astype("float64").asnumpy(),
        expected,
        rtol=4 * ROUNDING[wanted],
        atol=4 * ROUNDING[wanted] if op == "log_softmax" else ROUNDING[wanted],
    )
    out.backward(mx.nd.array(head, dtype=wanted))
    assert data.grad.dtype_name == given
    head = mx.nd.array(head, dtype=wanted).astype("float64").asnumpy()
    if op == "log_softmax":
        slope = head - np.exp(expected) * head.sum(-1, keepdims=True)
    else:
        slope = expected * (head - (head * expected).sum(-1, keepdims=True))
        slope = -slope if op == "softmin" else slope
    rounding = max(ROUNDING[given], ROUNDING[wanted])
    found = data.grad.astype("float64").asnumpy()
    np.testing.assert_allclose(found, slope, rtol=0, atol=16 * rounding)


def test_types_of_outputs_are_inferred():
    symbol = mx.sym.softmax(mx.sym.Variable("data"), dtype="float32")
    assert symbol.infer_type(data="float16")[1] == [np.float32]
    with pytest.raises(InvalidArgumentError, match="softmax: element type int32"):
        mx.nd.softmax(mx.nd.ones((2,)), dtype="int32")
    executor = symbol.simple_bind(mx.cpu(), data=(2, 2), type_dict={"data": "float16"})
    (out,) = executor.forward(is_train=True, data=mx.nd.array([[0, 0], [0, 1]], dtype="float16"))
    executor.backward(mx.nd.ones((2, 2)))
    assert out.dtype == np.float32
    assert executor.grad_dict["data"].dtype == np.float16


@pytest.mark.parametrize("wanted", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("given", ["float16", "float32", "float64"])
@pytest.mark.parametrize("order", [1, 2])
def test_norms_from_one_type_to_another(order, given, wanted):
    x = np.array([[3.0, -4.0], [300.0, 400.0]])
    data = mx.nd.array(x, dtype=given)
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.norm(data, ord=order, axis=1, out_dtype=wanted)
    out.backward(mx.nd.array([2, 1], dtype=wanted))
    sizes = np.abs(x).sum(1) if order == 1 else np.sqrt((x * x).sum(1))
    assert out.dtype_name == wanted
    assert out.asnumpy().tolist() == sizes.tolist()
    slope = np.sign(x) if order == 1 else x / sizes[:, None]
    assert data.grad.dtype_name == given
    assert_grad = {"rtol": {"float16": 1e-3}.get(given, 1e-6)}
    np.testing.assert_allclose(data.grad.asnumpy(), slope * [[2], [1]], **assert_grad)


def test_a_norm_may_leave_the_range_of_its_data():
    data = mx.nd.array([60000, 60000], dtype="float16")
    data.attach_grad()
    with mx.autograd.record():
        out = mx.nd.norm(data, out_dtype="float32")
    out.backward()
    np.testing.assert_allclose(out.asnumpy(), [60000 * 2**0.5], rtol=1e-3)
    np.testing.assert_allclose(data.grad.asnumpy(), [0.5**0.5] * 2, rtol=1e-3)
