"""Operators as methods of a symbol, and what only arrays can do."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import ferromix as mx
from ferromix.symbol import operators

X = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)


def test_every_operator_is_a_method_of_the_class_with_its_arguments():
    for name in operators.method_names():
        assert callable(getattr(mx.sym.Symbol, name)), name
    assert list(inspect.signature(mx.sym.Symbol.clip).parameters)[1:3] == ["a_min", "a_max"]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (lambda x: x.sum(axis=1), X.sum(1)),
        (lambda x: x.clip(0, 1), X.clip(0, 1)),
        (lambda x: x.swapaxes(0, 1), X.T),
        (lambda x: x.slice_axis(axis=1, begin=0, end=1), X[:, :1]),
        (lambda x: x.tanh(), np.tanh(X)),
        (lambda x: x.as_nd_ndarray(), X),
    ],
)
def test_methods_compute_what_the_operators_do(method, expected):
    bound = method(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array(X)})
    np.testing.assert_allclose(bound.forward()[0].asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["asnumpy", "asscalar", "wait_to_read", "copy", "as_in_context", "detach", "backward"],
)
def test_what_needs_values_is_refused_as_in_mxnet(name):
    with pytest.raises(
        mx.error.NotImplementedForSymbol, match=f"Function {name} is not implemented for Symbol"
    ):
        getattr(mx.sym.var("x"), name)()
    with pytest.raises(AttributeError, match="no attribute 'such'"):
        mx.sym.var("x").such  # noqa: B018


def test_the_truth_of_a_symbol_is_refused_as_in_mxnet_and_as_a_value_error():
    for kind in (mx.base.NotImplementedForSymbol, ValueError):
        with pytest.raises(kind, match=r"__bool__ \(namely operator \"bool\"\).*use 'is None'"):
            bool(mx.sym.var("x"))
