"""Operators whose properties are cards: in nd, sym and the documentation at once."""

from __future__ import annotations

import inspect
from typing import ClassVar

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError

RNG = np.random.default_rng(3)


class Power(mx.operator.Operator):
    """``scale * data ** power + offset``, and the number of runs so far."""

    def __init__(self, attrs, device):
        self.scale, self.power = attrs["scale"], attrs["power"]
        self.device = device

    def forward(self, ctx, in_data, req, out_data, aux):
        assert ctx.run_ctx.ctx.device_type == self.device
        data, offset = in_data
        mx.operator.assign(out_data[0], req[0], self.scale * data**self.power + offset)
        if ctx.is_train:
            aux[0][:] += 1

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
        slope = self.scale * self.power * in_data[0] ** (self.power - 1)
        mx.operator.assign(in_grad[0], req[0], slope * out_grad[0])
        mx.operator.assign(in_grad[1], req[1], out_grad[0])


@mx.operator.register
class PowerProperty(mx.operator.OperatorProperty):
    """A power, scaled, plus an offset."""

    name = "test_power"
    aliases = ("test_power_too",)
    arguments = ("data", "offset")
    auxiliary_states = ("runs",)
    dtypes = ("float32", "float64")
    params: ClassVar = {
        "scale": mx.operator.Param("float", 1.0, "The factor."),
        "power": mx.operator.Param("int", 2, "The exponent.", low=1, high=9),
    }

    def infer_shape(self, in_shapes):
        args, outs, _ = super().infer_shape(in_shapes)
        return args, outs, [(1,)]

    def create_operator(self, ctx):
        return Power(self.attrs, ctx.device_type)


def test_a_class_needs_no_module():
    fields = {"name": "test_without_module", "create_operator": lambda self, ctx: Copy()}
    bases = (mx.operator.OperatorProperty,)
    made = eval("type('Card', bases, fields)", {"bases": bases, "fields": fields})
    with pytest.raises(AttributeError):
        made.__module__  # noqa: B018 - it has none
    mx.operator.register(made)
    assert mx.nd.test_without_module(mx.nd.array([1, 2])).asnumpy().tolist() == [1, 2]


class Copy(mx.operator.CustomOp):
    """Gives what it is given, whatever interface calls it."""

    def forward(self, ctx, in_data, req, out_data, aux):
        mx.operator.assign(out_data[0], req[0], in_data[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["test_power", "test_power_too"])
def test_a_card_is_a_function(name, dtype):
    x, b = RNG.normal(size=(2, 3)).astype(dtype), RNG.normal(size=(2, 3)).astype(dtype)
    data, offset = mx.nd.array(x, dtype=dtype), mx.nd.array(b, dtype=dtype)
    runs = mx.nd.zeros((1,), dtype=dtype)
    data.attach_grad()
    offset.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.nd, name)(data, offset, runs, scale="2", power=3)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), 2 * x**3 + b, rtol=1e-5)
    np.testing.assert_allclose(data.grad.asnumpy(), 6 * x**2, rtol=1e-5)
    np.testing.assert_array_equal(offset.grad.asnumpy(), np.ones((2, 3)))
    assert runs.asscalar() == 1


def test_an_argument_may_have_a_type_of_its_own():
    class Rows(mx.operator.Operator):
        def forward(self, ctx, in_data, req, out_data, aux):
            mx.operator.assign(out_data[0], req[0], mx.nd.take(*in_data))

        def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
            back = np.zeros(in_data[0].shape)
            np.add.at(back, in_data[1].asnumpy(), out_grad[0].asnumpy())
            mx.operator.assign(in_grad[0], req[0], mx.nd.array(back, dtype=in_grad[0].dtype))
            mx.operator.assign(in_grad[1], req[1], mx.nd.zeros_like(in_grad[1]))

    @mx.operator.register
    class RowsProperty(mx.operator.OperatorProperty):
        """Rows by their numbers."""

        name = "test_numbered_rows"
        arguments = ("data", "ids")
        dtypes = ("float32", "float64")
        argument_dtypes: ClassVar = {"ids": ("int32", "int64")}

        def infer_shape(self, in_shapes):
            data, ids = in_shapes
            known = data is not None and ids is not None
            return [data, ids], [(*ids, *data[1:]) if known else None], []

        def create_operator(self, ctx):
            return Rows()

    ids = mx.nd.array([2, 0, 2], dtype="int64")
    for dtype in RowsProperty.dtypes:
        x = mx.nd.array([[1, 2], [3, 4], [5, 6]], dtype=dtype)
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.test_numbered_rows(x, ids)
        y.backward()
        assert y.dtype == x.grad.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(y.asnumpy(), [[5, 6], [1, 2], [5, 6]])
        np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 1], [0, 0], [2, 2]])
    symbol = mx.sym.test_numbered_rows(mx.sym.var("x"), mx.sym.var("ids"))
    assert symbol.infer_type(x="float64", ids="int32")[1] == [np.float64]
    with pytest.raises(InvalidArgumentError, match="'ids' of element type float32 is not"):
        mx.nd.test_numbered_rows(x, ids.astype("float32"))
    with pytest.raises(InvalidArgumentError, match="'data' of element type int64 is not"):
        mx.nd.test_numbered_rows(x.astype("int64"), ids)
    args = {"x": x.astype("float32"), "ids": ids.astype("float32")}
    with pytest.raises(InvalidArgumentError, match="'ids' of element type float32 is not"):
        symbol.bind(mx.cpu(), args)


def test_a_card_is_a_symbol_and_survives_a_file():
    symbol = mx.sym.test_power(mx.sym.var("x"), power=3, name="p")
    assert symbol.list_arguments() == ["x", "p_offset"]
    assert symbol.list_auxiliary_states() == ["p_runs"]
    assert symbol.infer_shape(p_offset=(4,)) == ([(4,), (4,)], [(4,)], [(1,)])
    executor = mx.sym.load_json(symbol.tojson()).simple_bind(
        mx.cpu(), x=(4,), grad_req={"x": "add", "p_offset": "write"}
    )
    x = RNG.normal(size=4).astype("float32")
    for step in (1, 2):
        executor.forward(is_train=True, x=mx.nd.array(x))
        executor.backward(mx.nd.ones((4,)))
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), step * 3 * x**2, rtol=1e-5)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), x**3, rtol=1e-5)
    assert executor.aux_dict["p_runs"].asscalar() == 2


def test_a_card_is_documented():
    for front in (mx.nd, mx.sym):
        text = front.test_power.__doc__
        assert "A power, scaled, plus an offset." in text
        assert "The exponent." in text
        assert list(inspect.signature(front.test_power).parameters)[:5] == [
            *("data", "offset", "runs", "scale", "power")
        ]
    assert "test_power" in mx.operator.get_all_registered_operators()
    found = mx.operator.get_operator_arguments("test_power")
    assert found.names == ["data", "offset", "runs", "scale", "power"]
    assert found.narg == 5


def test_attributes_are_typed():
    args = [mx.nd.ones((1,))] * 2 + [mx.nd.zeros((1,))]
    with pytest.raises(
        InvalidArgumentError, match=r"test_power: attribute 'power' must be .*, got 0"
    ):
        mx.nd.test_power(*args, power=0)
    with pytest.raises(InvalidArgumentError, match="unknown attribute 'pover'"):
        mx.nd.test_power(*args, pover=1)
    with pytest.raises(InvalidArgumentError, match="element type int32 is not supported"):
        mx.nd.test_power(*(a.astype("int32") for a in args))
    made = PowerProperty(power="4")
    assert made.get_params() == {"scale": "1.0", "power": "4"}
    assert (made.num_outputs(), made.num_visible_outputs()) == (1, 1)


class Split(mx.operator.Operator):
    """Halves of several inputs, in place, with an output that nobody sees."""

    def __init__(self, kind):
        self.kind = kind

    def forward(self, ctx, in_data, req, out_data, aux):
        for x, r, y in zip(in_data, req, out_data, strict=False):
            mx.operator.assign(y, r, x / 2)
        mx.operator.assign(out_data[-1], req[-1], 1 if self.kind == "first" else 2)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
        for g, r, x in zip(out_grad, req, in_grad, strict=True):
            mx.operator.assign(x, r, g * out_data[-1])


@mx.operator.register
class SplitProperty(mx.operator.OperatorProperty):
    """Halves."""

    name = "test_halves"
    variadic = "num_args"
    params: ClassVar = {
        "num_args": mx.operator.Param("int", doc="How many.", low=1),
        "kind": mx.operator.Param("str", "first", "Which operator.", choices=("first", "second")),
    }

    def list_outputs(self):
        return [f"half{i}" for i in range(self.attrs["num_args"])] + ["factor"]

    def num_visible_outputs(self):
        return self.attrs["num_args"]

    def infer_shape(self, in_shapes):
        return list(in_shapes), [*in_shapes, (1,)], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, out_data[-1]]

    def forward_inplace_option(self, in_data, out_data):
        return list(zip(in_data, out_data, strict=False))

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return list(zip(out_grad, in_grad, strict=True))

    def create_operator(self, ctx):
        return Split(self.attrs["kind"])


@pytest.mark.parametrize(("kind", "factor"), [("first", 1), ("second", 2)])
def test_many_inputs_hidden_outputs_and_memory_in_place(kind, factor):
    values = [RNG.normal(size=(2, i + 1)).astype("float32") for i in range(3)]
    arrays = [mx.nd.array(v) for v in values]
    arrays[1].attach_grad()
    with mx.autograd.record():
        halves = mx.nd.test_halves(*arrays, kind=kind)
    assert len(halves) == 3
    halves[1].backward()
    for half, value in zip(halves, values, strict=True):
        np.testing.assert_array_equal(half.asnumpy(), value / 2)
    np.testing.assert_array_equal(arrays[1].grad.asnumpy(), np.full((2, 2), factor))
    x = mx.sym.var("x")
    symbol = mx.sym.exp(mx.sym.test_halves(mx.sym.exp(x), x, kind=kind)[0])
    executor = symbol.simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=arrays[1])
    executor.backward(mx.nd.ones((2, 2)))
    out = np.exp(np.exp(values[1]) / 2)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), out, rtol=1e-5)
    np.testing.assert_allclose(
        executor.grad_dict["x"].asnumpy(), factor * out * np.exp(values[1]), rtol=1e-5
    )
    assert ", over exp" in str(executor.memory_plan())


def test_names_are_taken_once():
    class Again(PowerProperty):
        """Again."""

        name = "relu"

    with pytest.raises(InvalidArgumentError, match="'relu' is registered twice"):
        mx.operator.register(Again)
    Again.name = "not an identifier"
    with pytest.raises(InvalidArgumentError, match="needs a name that is an identifier"):
        mx.operator.register(Again)
    for wrong in (3, None, object, PowerProperty(power=1)):
        with pytest.raises(ArgumentTypeError, match="expected a name, or a subclass"):
            mx.operator.register(wrong)
    with pytest.raises(ArgumentTypeError, match="write @register without one"):
        mx.operator.register("test_named")(PowerProperty)


def test_shapes_and_types_backwards():
    @mx.operator.register
    class Back(mx.operator.OperatorProperty):
        """Twice as long."""

        name = "test_longer"
        differentiable = False

        def infer_shape(self, in_shapes):
            (shape,) = in_shapes
            return [shape], [shape and (2 * shape[0],)], []

        def infer_shape_backward(self, in_shapes, out_shapes):
            return [out_shapes[0] and (out_shapes[0][0] // 2,)]

        def infer_type_backward(self, in_types, out_types):
            return out_types

        def create_operator(self, ctx):
            return Longer()

    class Longer:
        def forward(self, ctx, in_data, req, out_data, aux):
            out_data[0][:] = mx.nd.concat(in_data[0], in_data[0], dim=0)

    symbol = mx.sym.test_longer(mx.sym.var("x"), name="y") + mx.sym.var("z")
    assert symbol.infer_shape(z=(6,))[0] == [(3,), (6,)]
    assert symbol.infer_type(z="float64")[0] == [np.float64] * 2
    assert mx.nd.test_longer(mx.nd.array([1, 2])).asnumpy().tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("visible", [1, 2, 3])
def test_numbers_of_outputs_that_are_overridden(visible):
    class Copies(mx.operator.OperatorProperty):
        """Multiples."""

        name = f"test_copies_{visible}"

        def num_outputs(self):
            return 3

        def num_visible_outputs(self):
            return visible

        def create_operator(self, ctx):
            class Multiply:
                def forward(self, ctx, in_data, req, out_data, aux):
                    for i, (target, request) in enumerate(zip(out_data, req, strict=True)):
                        mx.operator.assign(target, request, in_data[0] * (i + 1))

                def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
                    assert (len(out_grad), len(out_data)) == (visible, 3)
                    slope = sum((g * (i + 1) for i, g in enumerate(out_grad)), out_grad[0] * 0)
                    mx.operator.assign(in_grad[0], req[0], slope)

            return Multiply()

    mx.operator.register(Copies)
    made = Copies()
    assert (made.num_outputs(), made.num_visible_outputs()) == (3, visible)
    assert made.list_outputs() == ["output0", "output1", "output2"]
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        found = getattr(mx.nd, Copies.name)(x)
    outs = found if isinstance(found, list) else [found]
    assert [y.asnumpy().tolist() for y in outs] == [[i, 2 * i] for i in range(1, visible + 1)]
    mx.autograd.backward(outs)
    assert x.grad.asnumpy().tolist() == [visible * (visible + 1) / 2] * 2
    symbol = getattr(mx.sym, Copies.name)(mx.sym.var("x"), name="c")
    assert symbol.list_outputs() == [f"c_output{i}" for i in range(visible)]
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=x)
    executor.backward([mx.nd.ones((2,))] * visible)
    assert executor.grad_dict["x"].asnumpy().tolist() == [visible * (visible + 1) / 2] * 2


def test_no_file_can_ask_for_millions_of_inputs():
    with pytest.raises(InvalidArgumentError, match=r"test_halves: attribute 'num_args' .*<= 65536"):
        mx.sym.test_halves(mx.sym.var("x"), num_args=2**31)
