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


class Endless:
    """A collection without an end, whatever it says of its length."""

    def __len__(self):
        return 1

    def __getitem__(self, place):
        return f"a{place}"

    def __repr__(self):
        return "Endless"


WRONG = {
    "list_arguments": [None, 3, [1], ["a", "a"], "aa", itertools.repeat("a"), Endless()],
    "list_outputs": [None, 3, [], [None], range(2**31), b"y"],
    "list_auxiliary_states": [None, 3, ["data"]],
    "infer_shape": [
        None,
        3,
        [],
        ([],),
        ([(2,)], [(2,)], [(3,)]),
        ([(2,)], ["x"], []),
        ([(2,)], [(-5,)], []),
        ([(2,)], [2], []),
        ([(2,)], [(2.0,)], []),
        ([(2,)], [{"2": 1}], []),
        ([(2,)], [b"\x02"], []),
        ([(2,)], "2", []),
        itertools.repeat([(2,)], 2),
    ],
    "infer_type": [
        None,
        3,
        ([], [], []),
        (["float32"], ["no"], []),
    ],
    "declare_backward_dependency": [None, 3, ["x"], [99], [-1]],
    "create_operator": [None, 3, "op", object],
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


@pytest.mark.parametrize("method", WRONG)
def test_what_a_property_raises_is_named(method):
    def fail(self, *args):
        raise KeyError("mine")

    name = custom(**{method: fail})
    x = mx.nd.ones((2,))
    x.attach_grad()

    def call():
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type=name)
        y.backward()
        x.grad.wait_to_read()

    with pytest.raises(InvalidArgumentError, match=rf"{name}.*{method} raised KeyError.*mine"):
        call()
    mx.nd.waitall()


@pytest.mark.parametrize("result", ["forward", "backward", "in a pass"])
def test_what_writes_nothing_or_returns_something_is_no_crash(result):
    """As in MXNet, where what a method returns does not count, nor what it leaves alone."""

    def nothing(**_):
        return 3

    operator = mx.operator.CustomOp()
    if result != "backward":
        operator.forward = nothing
    name = custom(create=operator)
    x = mx.nd.ones((2,))
    x.attach_grad()
    if result == "in a pass":
        executor = mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2,))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2,)))
        assert executor.grad_arrays[0].shape == (2,)
        return
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward()
    assert y.shape == x.grad.shape == (2,)
    mx.nd.waitall()


def test_an_unknown_type_is_reported_as_a_type():
    name = custom(infer_type=lambda self, types: (types, [None], []))
    with pytest.raises(InvalidArgumentError, match=rf"{name}.*element type.*infer_type"):
        mx.nd.Custom(mx.nd.ones((2,)), op_type=name)
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type=name, name="y")
    said = rf"element type of output 'output' of 'y'.*{name}"
    with pytest.raises(InvalidArgumentError, match=said):
        symbol.simple_bind(mx.cpu(), x=(2,))
    with pytest.raises(InvalidArgumentError, match="the shapes of these do not follow"):
        mx.sym.Custom(mx.sym.var("x"), op_type=custom()).simple_bind(mx.cpu())


@pytest.mark.parametrize("value", [np.ones((3,)), "text", [[1, 2], [3]]])
def test_what_cannot_be_assigned_surfaces_at_the_wait(value):
    def forward(self, req, in_data, out_data):
        self.assign(out_data[0], req[0], value)

    name = custom(forward)
    y = mx.nd.Custom(mx.nd.ones((2,)), op_type=name)
    with pytest.raises((ValueError, TypeError)) as caught:
        y.wait_to_read()
    assert f"in forward of Custom operator '{name}'" in caught.value.__notes__
    mx.nd.waitall()


CARDS = [
    ({"arguments": "data"}, "arguments must be a list of names"),
    ({"arguments": ("a", "a")}, "need names that differ"),
    ({"arguments": ("a",), "auxiliary_states": ("a",)}, "names that differ"),
    ({"arguments": ("lambda",)}, "arguments must be a list of names"),
    ({"arguments": ("a",), "params": {"a": mx.operator.Param("int", 1, "")}}, "name of an input"),
    ({"params": 3}, "dict of Params"),
    ({"params": {"a": 3}}, "dict of Params"),
    ({"dtypes": ("foo",)}, "unknown element type 'foo' in dtypes"),
    ({"argument_dtypes": ("int32",)}, "argument_dtypes must be a dict"),
    ({"argument_dtypes": {"data": "int32"}}, "argument_dtypes must be a list of names"),
    ({"argument_dtypes": {"data": ("foo",)}}, "unknown element type 'foo' in argument_dtypes"),
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


PROPERTIES = {
    "list_outputs": [None, 3, b"ab", []],
    "list_arguments": [None, 3, b"ab"],
    "num_outputs": ["x", 0, -1, 65537, 10**9],
    "num_visible_outputs": ["x", 0, 2, True],
    "create_operator": [None, 3],
    "forward_resource": [3, ["x"]],
    "forward_inplace_option": [3, [("a", 0)], [(0, 9)], [(0,)]],
    "infer_type": [None, 3, ([], [], [])],
    "infer_shape": [None, 3, ([], [], [])],
    "declare_backward_dependency": [3, ["x"]],
    "backward_inplace_option": [3, [("a", 0)]],
    "backward_resource": [3, ["x"]],
}


@pytest.mark.parametrize(
    ("method", "returned"),
    [(m, r) for m, returns in PROPERTIES.items() for r in returns],
    ids=lambda value: str(value)[:40],
)
def test_what_a_card_returns_is_checked(method, returned):
    name = f"test_property_{next(NUMBERS)}"
    fields = {"create_operator": lambda self, ctx: mx.operator.CustomOp(), "name": name}
    fields[method] = lambda self, *args: returned
    mx.operator.register(type("Card", (mx.operator.OperatorProperty,), fields))
    x = mx.nd.ones((2,))
    x.attach_grad()

    def call():
        with mx.autograd.record():
            y = getattr(mx.nd, name)(x)
        y.backward()
        x.grad.wait_to_read()

    with pytest.raises(InvalidArgumentError, match=rf"{name}.*{method}"):
        call()


@pytest.mark.parametrize("name", ["out", "name", "attr", "ctx", "self", "a b", "lambda", "", 3])
def test_attributes_that_no_call_could_give_are_refused(name):
    params = {name: mx.operator.Param("int", 1, "A number.")}
    fields = {"name": f"test_reserved_{next(NUMBERS)}", "params": params}
    simple = mx.operator.SimpleOp(fields["name"])
    for define in (
        lambda: mx.operator.register(type("Reserved", (mx.operator.OperatorProperty,), fields)),
        lambda: simple.set_enable_kwargs(params),
    ):
        with pytest.raises(InvalidArgumentError, match=r"(Reserved|reserved_\d+): the name of an"):
            define()
    assert fields["name"] not in mx.operator.get_all_registered_operators()


def test_an_operator_without_inputs_may_say_where_it_runs():
    class Three(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux):
            mx.operator.assign(out_data[0], req[0], 3)

    @mx.operator.register
    class ThreeProperty(mx.operator.OperatorProperty):
        name = "test_three_somewhere"
        arguments = ()
        params: ClassVar = {"ctx": mx.operator.Param("str", "", "The device.")}
        differentiable = False

        def infer_shape(self, in_shapes):
            return [], [(2,)], []

        def infer_type(self, in_types):
            return [], ["float32"], []

        def create_operator(self, ctx):
            return Three()

    made = mx.nd.test_three_somewhere(ctx=mx.cpu(1))
    assert (made.context, made.asnumpy().tolist()) == (mx.cpu(1), [3, 3])


def test_an_unknown_resource_is_refused_when_it_is_asked_for():
    op = mx.operator.SimpleOp("test_bogus_resource")
    with pytest.raises(InvalidArgumentError, match=r"test_bogus_resource: .*'bogus'.*temp_space"):
        op.set_resource_request("temp_space", "bogus")
    assert op.resources == []


class Unspeakable:
    """An object whose text cannot be had."""

    def __repr__(self):
        raise RuntimeError("no text")


NAMED = {
    "no arguments": {"list_arguments": lambda self: []},
    "a missing argument": {"list_arguments": lambda self: ["data", "other"]},
    "too many elements": {"infer_shape": lambda self, s: (s, [(2**40, 2**40)], [])},
    "too long an axis": {"infer_shape": lambda self, s: (s, [(2**70,)], [])},
    "no shape": {"infer_shape": lambda self, s: (s, [None], [])},
    "no text": {"infer_type": lambda self, t: (t, [Unspeakable()], [])},
    "a class": {"create_operator": lambda self, *args: mx.operator.CustomOp},
}


@pytest.mark.parametrize("what", NAMED)
def test_errors_of_calls_name_the_operator(what):
    name = custom(**NAMED[what])
    with pytest.raises(InvalidArgumentError, match=name):
        mx.nd.Custom(mx.nd.ones((2,)), op_type=name)
    if what != "a missing argument":  # of which a symbol makes a variable
        with pytest.raises(InvalidArgumentError, match=name):
            mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2,)).forward()


def test_a_result_of_another_shape_names_the_operator():
    name = custom(infer_shape=lambda self, shapes: (shapes, [(1, 4)], []))
    with pytest.raises(mx.MXNetError, match="cannot copy") as caught:
        mx.nd.Custom(mx.nd.ones((2, 2)), op_type=name).wait_to_read()
    assert any(name in note for note in caught.value.__notes__)


RULES = [
    (lambda a, env: 3, "must return a value made of those it is given, returned 3"),
    (lambda a, env: None, "returned None"),
    (lambda a, env: mx.nd.ones((2,)), "returned"),
    (lambda a, env: a.op("nope"), "unknown operator 'nope'"),
    (lambda a, env: a.op("broadcast_add", mx.nd.ones((2,))), "an operand in a rule must be"),
    (lambda a, env: a.op("broadcast_add"), r"broadcast_add takes 2 inputs \(lhs, rhs\), got 1"),
    (lambda a, env: 1 / 0, "raised ZeroDivisionError"),
    (lambda a: a, "raised TypeError"),
]


@pytest.mark.parametrize(("rule", "said"), RULES)
def test_a_wrong_rule_is_named(rule, said):
    name = f"test_rule_{next(NUMBERS)}"
    mx.operator.SimpleOp(name).set_rule(rule).register()
    with pytest.raises(InvalidArgumentError, match=rf"SimpleOp {name}: its rule.*{said}"):
        getattr(mx.nd, name)(mx.nd.ones((2,)))
    with pytest.raises(InvalidArgumentError, match=rf"SimpleOp {name}: its rule.*{said}"):
        getattr(mx.sym, name)(mx.sym.var("x")).infer_shape(x=(2,))
