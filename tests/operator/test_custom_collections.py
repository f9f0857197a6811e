"""As in MXNet, methods of a CustomOpProp return any collection, and outputs may share a name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ferromix as mx

NUMBERS = itertools.count()


def register(**methods):
    """The name of a new operator, which doubles its input, once for each output."""
    name = f"test_collections_{next(NUMBERS)}"

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            for factor, (out, request) in enumerate(zip(out_data, req, strict=True), 2):
                self.assign(out, request, in_data[0] * factor)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            total = sum(g * factor for factor, g in enumerate(out_grad, 2))
            self.assign(in_grad[0], req[0], total)

    fields = {"create_operator": lambda self, *args: Op(), **methods}
    mx.operator.register(name)(type("Prop", (mx.operator.CustomOpProp,), fields))
    return name


RETURNED = {
    "list_arguments": [
        lambda: {"data": 1}.keys(),
        lambda: {"data"},
        lambda: {"data": 1},
        lambda: np.array(["data"]),
        lambda: "x",
    ],
    "list_outputs": [lambda: {"o": 1}.keys(), lambda: "o"],
    "list_auxiliary_states": [lambda: "", lambda: set(), lambda: np.array([])],
    "infer_shape": [
        lambda shapes: (np.array(shapes), np.array(shapes), []),
        lambda shapes: (shapes, {0: shapes[0]}.values(), {}),
        lambda shapes: ([range(2, 4)], [{2: 0, 3: 0}], ()),
    ],
    "infer_type": [
        lambda types: ({types[0]}, {types[0]: 1}.keys(), set()),
        lambda types: np.array([types, types]),
    ],
    "declare_backward_dependency": [
        lambda grads, data, outs: {*grads, *data},
        lambda grads, data, outs: np.array(grads),
        lambda grads, data, outs: range(3),
        lambda grads, data, outs: {grads[0]: 1}.keys(),
    ],
}


@pytest.mark.parametrize(
    ("method", "returns"), [(m, r) for m, several in RETURNED.items() for r in several]
)
def test_any_collection_will_do(method, returns):
    name = register(**{method: lambda self, *args: returns(*args)})
    values = np.arange(6, dtype="float32").reshape(2, 3)
    x = mx.nd.array(values)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward(x)
    np.testing.assert_array_equal(y.asnumpy(), 2 * values)
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * values)
    bound = mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2, 3))
    np.testing.assert_array_equal(bound.forward(x=x)[0].asnumpy(), 2 * values)


def test_storage_types_in_any_collection():
    name = register(
        infer_storage_type=lambda self, types: ({"csr"}, {"csr": 1}.keys(), ()),
        infer_storage_type_backward=lambda self, *groups: map_of(groups),
    )
    x = mx.nd.array([[0, 2], [3, 0]])
    sparse = x.tostype("csr")
    sparse.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(sparse, op_type=name)
    y.backward(x)
    assert y.stype == "csr"
    np.testing.assert_array_equal(y.asnumpy(), [[0, 4], [6, 0]])
    np.testing.assert_array_equal(sparse.grad.asnumpy(), [[0, 4], [6, 0]])


def map_of(groups):
    """Groups of storage types, all dense, as the values of a dict."""
    return {i: np.array(["default"] * len(group)) for i, group in enumerate(groups)}.values()


def test_outputs_may_have_one_name():
    name = register(
        list_outputs=lambda self: ["o", "o"],
        infer_shape=lambda self, shapes: (shapes, shapes * 2, []),
    )
    x = mx.nd.array([1, 2])
    first, second = mx.nd.Custom(x, op_type=name)
    np.testing.assert_array_equal(first.asnumpy(), [2, 4])
    np.testing.assert_array_equal(second.asnumpy(), [3, 6])
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type=name, name="c")
    assert symbol.list_outputs() == ["c_o", "c_o"]
    bound = symbol.bind(mx.cpu(), {"x": x}, {"x": mx.nd.zeros((2,))})
    outputs = bound.forward(is_train=True)
    bound.backward([x, x * 10])
    np.testing.assert_array_equal(outputs[1].asnumpy(), [3, 6])
    np.testing.assert_array_equal(bound.grad_arrays[0].asnumpy(), [32, 64])
    for use in (lambda: symbol["c_o"], lambda: bound.output_dict):
        with pytest.raises(ValueError, match="c_o"):
            use()
