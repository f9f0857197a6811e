"""Memory of arrays that a run was given, where they share it, or have it from a resource."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import ferromix as mx

view = mx.operator.numpy_view


class Double(mx.operator.Operator):
    """Twice the data, by NumPy; in ``backward``, twice the gradient."""

    def forward(self, ctx, in_data, req, out_data, aux):
        view(out_data[0])[...] = view(in_data[0]) * 2

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
        view(in_grad[0])[...] = view(out_grad[0]) * 2


@mx.operator.register
class DoubleByView(mx.operator.OperatorProperty):
    """Twice the data."""

    name = "test_double_by_view"

    def create_operator(self, ctx):
        return Double()


@mx.operator.register
class DoubleInPlace(DoubleByView):
    """Twice the data, where they are."""

    name = "test_double_in_place"

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]


class CustomDouble(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        view(out_data[0])[...] = view(in_data[0]) * 2


@mx.operator.register("test_double_by_view")
class CustomDoubleProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return CustomDouble()


OPERATORS = [
    mx.nd.test_double_by_view,
    mx.nd.test_double_in_place,
    lambda data, out: mx.nd.Custom(data, op_type="test_double_by_view", out=out),
]
ALIASES = {
    "the array": (lambda a: a, lambda a: a),
    "another shape": (lambda a: a.reshape((8,)), lambda a: a.reshape((8,))),
    "an overlap": (lambda a: a.reshape((8,))[:6], lambda a: a.reshape((8,))[2:]),
    "other columns": (lambda a: a[:, :2], lambda a: a[:, 2:]),
}


@pytest.mark.parametrize("operator", range(3))
@pytest.mark.parametrize("alias", ALIASES)
def test_outputs_may_share_memory_with_inputs(operator, alias):
    read, written = ALIASES[alias]
    array, expected = mx.nd.arange(8).reshape((2, 4)), np.arange(8.0).reshape(2, 4)
    written(expected)[...] = read(expected).copy() * 2
    OPERATORS[operator](read(array), out=written(array))
    np.testing.assert_array_equal(array.asnumpy(), expected)


def test_gradients_may_share_memory_with_those_of_outputs():
    data, grads = mx.nd.array([1, 2, 3, 4]), mx.nd.array([5, 6, 7, 8, 9])
    bound = mx.sym.test_double_by_view(mx.sym.var("x")).bind(
        mx.cpu(), {"x": data}, {"x": grads[1:]}
    )
    for _ in range(2):
        bound.forward(is_train=True)
        bound.backward(grads[:4])
    np.testing.assert_array_equal(grads.asnumpy(), [5, 10, 20, 24, 28])


def test_a_space_is_seen_by_who_has_its_variable():
    space, seen = mx.resource.request(mx.cpu(), "temp_space"), mx.nd.zeros((3,))

    def fill(value):
        part = space.get_space((3,))
        part[:] = value
        view(part)[1:] += 1
        seen[:] = part

    with pytest.raises(mx.MXNetError, match="elsewhere use asnumpy"):
        view(space.get_space((3,)))
    for value in (1, 2):
        mx.engine.push(partial(fill, value), mutable_vars=[seen, space.var])
    np.testing.assert_array_equal(seen.asnumpy(), [2, 3, 3])
    failed = mx.engine.new_variable()
    mx.engine.push(lambda: fill(3), const_vars=[seen], mutable_vars=[failed])
    with pytest.raises(mx.MXNetError, match="elsewhere use asnumpy"):
        mx.engine.wait_for_var(failed)


def test_a_requested_space_is_seen():
    class Reverse(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux):
            part = view(ctx.requested[0].get_space(in_data[0].shape))
            part[...] = view(in_data[0])[::-1]
            view(out_data[0])[...] = part

    @mx.operator.register
    class ReverseProperty(mx.operator.OperatorProperty):
        """Backwards."""

        name = "test_reverse_by_space"
        differentiable = False

        def forward_resource(self, in_shapes):
            return ["temp_space"]

        def create_operator(self, ctx):
            return Reverse()

    found = mx.nd.test_reverse_by_space(mx.nd.array([1, 2, 3]))
    np.testing.assert_array_equal(found.asnumpy(), [3, 2, 1])
