"""The backward pass after a forward pass of prediction belongs to what that pass gave."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

CALLS: list[str] = []


@mx.operator.register("counted_square")
class CountedSquareProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return CountedSquare()


class CountedSquare(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        CALLS.append("forward")
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        CALLS.append("backward")
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


def passes(symbol, size=1000):
    """The result, its gradient by the data, and the result afterwards."""
    executor = symbol.simple_bind(mx.cpu(), data=(size,))
    executor.arg_dict["data"][:] = 1
    before = executor.forward(is_train=False)[0].asnumpy()
    executor.backward(mx.nd.ones((size,)))
    return before, executor.grad_dict["data"].asnumpy(), executor.outputs[0].asnumpy()


DATA = mx.sym.Variable("data")
DRAWING = {
    "dropout": mx.sym.Dropout(DATA, p=0.5, mode="always"),
    "uniform": DATA * mx.sym.random.uniform(shape=(1000,)),
    "normal, twice": DATA * mx.sym.random.normal(shape=(1000,))
    + 0 * mx.sym.random.normal(shape=(1000,)),
}


@pytest.mark.parametrize("name", DRAWING)
def test_gradients_are_of_the_numbers_that_the_pass_drew(name):
    before, gradient, after = passes(DRAWING[name])
    assert len(np.unique(before)) > 1
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(gradient, before)


def test_functions_are_called_once():
    CALLS.clear()
    before, gradient, _ = passes(mx.sym.Custom(DATA, op_type="counted_square"), size=3)
    mx.nd.waitall()
    assert CALLS == ["forward", "backward"]
    assert before.tolist() == [1, 1, 1]
    assert gradient.tolist() == [2, 2, 2]


@pytest.mark.parametrize("mode", ["training", "always"])
def test_only_graphs_that_draw_in_prediction_keep_its_results(mode):
    executor = mx.sym.Dropout(DATA, mode=mode).simple_bind(mx.cpu(), data=(3,))
    assert executor.handle.network.repeats == (mode == "training")
