"""Operators of one's own that are wrong: an error names the operator and what it gave."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

NUMBERS = itertools.count()


def custom(forward=None, create=None, **methods):
    """The name of a new CustomOp whose property has these methods."""
    name = f"test_hostile_{next(NUMBERS)}"

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            if forward:
                forward(self, req, in_data, out_data)
            else:
                self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return create if create is not None else Op()

    fields = {"create_operator": create_operator, **methods}
    mx.operator.register(name)(type("Prop", (mx.operator.CustomOpProp,), fields))
    return name


WRONG = {
    "list_arguments": [None, 3, "data", [1], ["a", "a"]],
    "list_outputs": [None, 3, [], [None], ["y", "y"]],
    "list_auxiliary_states": [None, 3, ["data"]],
    "infer_shape": [
        None,
        3,
        [],
        ([],),
        ([(2,)], [(2,)], [(3,)]),
        ([(2,)], ["x"], []),
        ([(2,)], [(-5,)], []),
    ],
    "infer_type": [
        None,
        3,
        ([], [], []),
        (["float32"], ["no"], []),
    ],
    "declare_backward_dependency": [None, 3, ["x"], [99], [-1]],
}


@pytest.mark.parametrize(
    ("method", "returned"),
    [(m, r) for m, returns in WRONG.items() for r in returns],
    ids=lambda value: str(value)[:40],
)
def test_what_a_property_returns_is_checked(method, returned):
    name = custom(**{method: lambda self, *args: returned})
    x = mx.nd.ones((2,))
    x.attach_grad()

    def call():
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type=name)
        y.backward()
        x.grad.wait_to_read()

    def bind():
        executor = mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2,))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2,)))
        executor.grad_arrays[0].wait_to_read()

    for use in (call, bind):
        with pytest.raises(InvalidArgumentError, match=name):
            use()
    mx.nd.waitall()


@pytest.mark.parametrize("made", [3, "op", object, [], np.ones(3)])
def test_what_is_no_operator_is_named(made):
    name = custom(create=made)
    with pytest.raises(InvalidArgumentError, match=name):
        mx.nd.Custom(mx.nd.ones((2,)), op_type=name).wait_to_read()


@pytest.mark.parametrize("value", [np.ones((3,)), "text", [[1, 2], [3]]])
def test_what_cannot_be_assigned_surfaces_at_the_wait(value):
    def forward(self, req, in_data, out_data):
        self.assign(out_data[0], req[0], value)

    y = mx.nd.Custom(mx.nd.ones((2,)), op_type=custom(forward))
    with pytest.raises((ValueError, TypeError)):
        y.wait_to_read()
    mx.nd.waitall()


CARDS = [
    ({"arguments": "data"}, "arguments must be a list of names"),
    ({"arguments": ("a", "a")}, "need names that differ"),
    ({"arguments": ("scale",), "params": {"scale": mx.operator.Param("int", 1, "")}}, "differ"),
    ({"params": 3}, "dict of Params"),
    ({"params": {"a": 3}}, "dict of Params"),
    ({"dtypes": ("foo",)}, "unknown element type 'foo'"),
    ({"aliases": ("not a name",)}, "aliases must be a list of names"),
]


@pytest.mark.parametrize(("fields", "said"), CARDS)
def test_a_malformed_card_is_refused_and_its_name_stays_free(fields, said):
    name = f"test_card_{next(NUMBERS)}"
    with pytest.raises(InvalidArgumentError, match=said):
        mx.operator.register(
            type("Card", (mx.operator.OperatorProperty,), {"name": name, **fields})
        )

    class Card(mx.operator.OperatorProperty):
        """A copy."""

        dtypes: ClassVar = ("float32",)

        def create_operator(self, ctx):
            class Copy(mx.operator.Operator):
                def forward(self, ctx, in_data, req, out_data, aux):
                    mx.operator.assign(out_data[0], req[0], in_data[0])

            return Copy()

    Card.name = name
    mx.operator.register(Card)
    assert getattr(mx.nd, name)(mx.nd.ones((2,))).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("taken", ["array", "zeros", "load", "NDArray", "Variable", "class", "exp"])
def test_a_taken_name_is_refused(taken):
    with pytest.raises(InvalidArgumentError, match=taken):
        mx.operator.register(type("Card", (mx.operator.OperatorProperty,), {"name": taken}))
    with pytest.raises(InvalidArgumentError, match=taken):
        mx.operator.SimpleOp(taken).set_function(lambda x, env: x).register()
