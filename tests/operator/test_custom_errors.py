"""Operators registered by name: exceptions in them, and calls that are wrong."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from customs import copy_backward, copy_forward, register

import ferromix as mx
from ferromix.error import InvalidArgumentError


def line():
    return f"{__file__}:{inspect.stack()[1].lineno}"


def test_an_exception_surfaces_once_at_the_next_wait_with_the_line():
    def forward(op, **_):
        raise KeyError("mine")

    name = register("test_raises", forward, copy_backward)
    here = line()
    y = mx.nd.Custom(mx.nd.ones((2,)), op_type=name)
    z = y + 1
    with pytest.raises(KeyError, match="mine") as caught:
        z.wait_to_read()
    assert any(here.rsplit(":", 1)[0] in note for note in caught.value.__notes__)
    assert any("test_raises" in note for note in caught.value.__notes__)
    mx.nd.waitall()


def test_an_exception_in_a_bound_graph():
    def backward(op, **_):
        raise KeyError("theirs")

    name = register("test_raises_back", copy_forward, backward)
    symbol = mx.sym.exp(mx.sym.Custom(mx.sym.exp(mx.sym.var("x")), op_type=name))
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    for _ in range(3):
        executor.forward(is_train=True, x=mx.nd.zeros((2,)))
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.exp(1), rtol=1e-6)
        executor.backward(mx.nd.ones((2,)))
        with pytest.raises(KeyError, match="theirs"):
            executor.grad_dict["x"].wait_to_read()
    mx.nd.waitall()


def test_inputs_are_not_to_be_written():
    def forward(op, in_data, **_):
        in_data[0][:] = 3

    y = mx.nd.Custom(mx.nd.ones((2,)), op_type=register("test_writes", forward))
    with pytest.raises(InvalidArgumentError, match="writes an array that the operation"):
        y.wait_to_read()


def test_waiting_for_all_inside_is_refused():
    def forward(op, **_):
        mx.nd.waitall()

    y = mx.nd.Custom(mx.nd.ones((2,)), op_type=register("test_waits", forward))
    with pytest.raises(mx.MXNetError, match="waited for all operations"):
        y.wait_to_read()


def test_another_class_of_a_name_replaces_the_first():
    def two(op, req, out_data, **_):
        op.assign(out_data[0], req[0], 2)

    x = mx.nd.ones((1,))
    name = register("test_twice", copy_forward)
    old = mx.sym.Custom(mx.sym.var("x"), op_type=name)
    assert mx.nd.Custom(x, op_type=name).asscalar() == 1
    with pytest.warns(UserWarning, match="'test_twice' was registered before"):
        register("test_twice", two)
    assert mx.nd.Custom(x, op_type=name).asscalar() == 2
    new = mx.sym.Custom(mx.sym.var("x"), op_type=name)
    bound = [symbol.bind(mx.cpu(), {"x": x}) for symbol in (old, new)]
    assert [executor.forward()[0].asscalar() for executor in bound] == [1, 2]


def test_unknown_and_missing_names():
    with pytest.raises(InvalidArgumentError, match="no custom operator 'test_nothing'"):
        mx.nd.Custom(mx.nd.ones((1,)), op_type="test_nothing")
    with pytest.raises(InvalidArgumentError, match="'op_type' is required"):
        mx.sym.Custom(mx.sym.var("x"))
    with pytest.raises(InvalidArgumentError, match="argument 'runs' is missing"):
        mx.nd.Custom(mx.nd.ones((1,)), mx.nd.ones((1,)), op_type="test_scaled")
    with pytest.raises(InvalidArgumentError, match=r"ScaledProp raised TypeError.*attributes: no"):
        mx.nd.Custom(mx.nd.ones((1,)), op_type="test_scaled", no=3)
