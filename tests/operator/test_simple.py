"""Operators of one function and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError
from ferromix.operator import Param, SimpleOp

RNG = np.random.default_rng(7)
X, Y = (RNG.normal(size=(3, 4)).astype("float32") for _ in range(2))


def both(name, arrays, **attrs):
    """Output and gradients, imperative and bound, for an output gradient of ones."""
    given = [mx.nd.array(a) for a in arrays]
    for array in given:
        array.attach_grad()
    with mx.autograd.record():
        out = getattr(mx.nd, name)(*given, **attrs)
    out.backward()
    symbol = getattr(mx.sym, name)(*(mx.sym.var(f"a{i}") for i in range(len(arrays))), **attrs)
    executor = symbol.bind(
        mx.cpu(), given, args_grad=[mx.nd.ones(a.shape) for a in given], grad_req="add"
    )
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(out.shape))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), out.asnumpy())
    for bound, array in zip(executor.grad_arrays, given, strict=True):
        np.testing.assert_allclose(bound.asnumpy(), array.grad.asnumpy() + 1, rtol=1e-5, atol=1e-6)
    return out.asnumpy(), [a.grad.asnumpy() for a in given]


@pytest.mark.parametrize(
    ("kind", "gradient"),
    [
        ("T0", lambda grad, env: grad * 3),
        ("T1", lambda grad, out, env: grad * out),
        ("T2", lambda grad, x, env: grad * x),
    ],
)
@pytest.mark.parametrize("inplace", ["none", "out_in", "kInplaceOutIn"])
def test_gradients_read_what_their_kind_says(kind, gradient, inplace):
    name = f"test_{kind}_{inplace}"
    op = SimpleOp(name).set_function(lambda x, env: mx.nd.exp(x), inplace="in_out")
    op.set_gradient(kind, gradient, inplace=inplace).register()
    out, (slope,) = both(name, [X])
    np.testing.assert_allclose(out, np.exp(X), rtol=1e-6)
    wanted = {"T0": np.full_like(X, 3), "T1": np.exp(X), "T2": X}[kind]
    np.testing.assert_allclose(slope, wanted, rtol=1e-6)


def test_two_inputs_and_keywords():
    op = SimpleOp("test_weighted", inputs=2)
    op.set_enable_kwargs({"weight": Param("float", 0.5, "Of the first."), "tag": Param("str", "x")})
    op.set_function(lambda a, b, env: env.kwargs["weight"] * a * b)
    op.set_gradient(
        "T2",
        lambda g, a, b, env: (env.kwargs["weight"] * g * b, env.kwargs["weight"] * g * a),
        inplace="out_lhs",
    )
    op.describe("A product, weighted.").register()
    out, slopes = both("test_weighted", [X, Y], weight=2)
    np.testing.assert_allclose(out, 2 * X * Y, rtol=1e-6)
    np.testing.assert_allclose(slopes, [2 * Y, 2 * X], rtol=1e-6)
    assert "A product, weighted." in mx.nd.test_weighted.__doc__


def test_a_scalar_and_a_shape():
    op = SimpleOp("test_rows").set_enable_scalar()
    op.set_function(lambda x, env: x.sum(axis=1) * env.scalar)
    op.set_gradient("T2", lambda g, x, env: mx.nd.ones(x.shape) * g.reshape((-1, 1)) * env.scalar)
    op.set_shape_function(lambda shape, env: shape[:1]).register()
    out, (slope,) = both("test_rows", [X], scalar=4)
    np.testing.assert_allclose(out, 4 * X.sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(slope, np.full_like(X, 4))
    with pytest.raises(InvalidArgumentError, match="'scalar' is required"):
        mx.nd.test_rows(mx.nd.array(X))


def test_a_rule_over_other_operators():
    op = SimpleOp("test_rule", inputs=2).set_enable_scalar()
    op.set_rule(lambda a, b, env: a.op("exp") * b + env.scalar).register()
    out, slopes = both("test_rule", [X, Y], scalar=1)
    np.testing.assert_allclose(out, np.exp(X) * Y + 1, rtol=1e-5)
    np.testing.assert_allclose(slopes, [np.exp(X) * Y, np.exp(X)], rtol=1e-5)


def test_a_function_for_each_device():
    op = SimpleOp("test_devices").set_function(lambda x, env: x + 1, device="cpu").register()
    assert op.choose("function", op.functions, "cpu")
    assert mx.nd.test_devices(mx.nd.zeros((1,), ctx=mx.cpu(1))).asscalar() == 1
    with pytest.raises(InvalidArgumentError, match="no function for gpu; there are some for: cpu"):
        op.choose("function", op.functions, "gpu")


def test_what_does_not_fit():
    with pytest.raises(InvalidArgumentError, match="must be an identifier"):
        SimpleOp("no name")
    with pytest.raises(InvalidArgumentError, match="inputs must be 1 or 2, got 3"):
        SimpleOp("test_three", inputs=3)
    op = SimpleOp("test_wrong")
    with pytest.raises(InvalidArgumentError, match="needs a function, or a rule"):
        op.register()
    with pytest.raises(ArgumentTypeError, match="a function must be callable, got 3"):
        op.set_function(3)
    with pytest.raises(InvalidArgumentError, match="one of T0, T1, T2, got 'T3'"):
        op.set_gradient("T3", abs)
    with pytest.raises(InvalidArgumentError, match="one of none, in_out, got 'lhs_out'"):
        op.set_function(abs, inplace="lhs_out")
    op.set_function(abs).set_enable_scalar().set_enable_kwargs({"k": Param("int")})
    with pytest.raises(InvalidArgumentError, match="a scalar or keyword arguments, not both"):
        op.register()
    with pytest.raises(InvalidArgumentError, match="'exp' is registered twice"):
        SimpleOp("exp").set_function(abs).register()


def test_a_gradient_of_another_number_of_arrays():
    op = SimpleOp("test_number", inputs=2).set_function(lambda a, b, env: a + b)
    op.set_gradient("T0", lambda g, env: g).register()
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.test_number(x, x)
    y.backward()
    with pytest.raises(InvalidArgumentError, match=r"must return 2 arrays.*returned 1"):
        x.grad.wait_to_read()


@pytest.mark.parametrize("result", [None, [1, 2], 3.0, mx.nd.ones((3,))])
def test_what_is_no_array_of_the_shape_is_an_error(result):
    name = f"test_returns_{type(result).__name__}"
    if not mx.operator.get_all_registered_operators().count(name):
        SimpleOp(name).set_function(lambda x, env: result).register()
    with pytest.raises(InvalidArgumentError, match=rf"{name}: its function must return an array"):
        getattr(mx.nd, name)(mx.nd.ones((2,))).wait_to_read()
