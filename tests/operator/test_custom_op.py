"""Operators registered by name: imperative, recorded, in graphs, in files."""

from __future__ import annotations

import gc
import inspect
import json
import threading
import weakref
from typing import ClassVar

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError

RNG = np.random.default_rng(16)


class Scaled(mx.operator.CustomOp):
    """``out = scale * data + weight``, and its largest element; counts its runs in ``aux``."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        data, weight = in_data
        self.forwards = getattr(self, "forwards", 0) + 1
        self.assign(out_data[0], req[0], data * self.scale + weight)
        self.assign(out_data[1], req[1], data.max().reshape((1,)))
        aux[0][:] += 1 if is_train else 100

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert self.forwards
        self.assign(in_grad[0], req[0], out_grad[0] * self.scale)
        self.assign(in_grad[1], req[1], out_grad[0].asnumpy())
        aux[0][:] += 1000


@mx.operator.register("test_scaled")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1.0"):
        super().__init__(need_top_grad=True)
        assert isinstance(scale, str)
        self.scale = float(scale)

    def list_arguments(self):
        return ["data", "weight"]

    def list_outputs(self):
        return ["out", "largest"]

    def list_auxiliary_states(self):
        return ["runs"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0], [1]], [[1]]

    def infer_type(self, in_type):
        return [in_type[0]] * 2, [in_type[0]] * 2, [np.float32]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Scaled(self.scale)


class Function(mx.operator.CustomOp):
    """Calls functions with what it gets."""

    def __init__(self, forward=None, backward=None):
        super().__init__()
        self.run_forward, self.run_backward = forward, backward

    def forward(self, **given):
        return self.run_forward(self, **given)

    def backward(self, **given):
        return self.run_backward(self, **given)


def register(name, forward=None, backward=None, **methods):
    """Registers an operator of functions; `methods` are the property's."""

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Function(forward, backward)

    for key, method in methods.items():
        setattr(Prop, key, method)
    mx.operator.register(name)(Prop)
    return name


def copy_forward(op, req, in_data, out_data, **_):
    op.assign(out_data[0], req[0], in_data[0])


def copy_backward(op, req, out_grad, in_grad, **_):
    op.assign(in_grad[0], req[0], out_grad[0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("shape", [(3, 4), (1,), (2, 1, 3)])
def test_a_call_computes(dtype, shape):
    x, w = (RNG.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    runs = mx.nd.zeros((1,))
    args = [mx.nd.array(x, dtype=dtype), mx.nd.array(w, dtype=dtype), runs]
    out, largest = mx.nd.Custom(*args, op_type="test_scaled", scale=2)
    assert out.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(out.asnumpy(), 2 * x + w)
    assert largest.asscalar() == x.max()
    assert runs.asscalar() == 100


def test_inputs_by_name_out_and_views():
    x = RNG.normal(size=(4, 6)).astype("float32")
    whole, w, runs = mx.nd.array(x), mx.nd.ones((4, 3)), mx.nd.zeros((1,))
    out = [mx.nd.zeros((4, 3)), mx.nd.zeros((1,))]
    given = mx.nd.Custom(
        runs=runs, weight=w, data=whole[:, ::2], op_type="test_scaled", scale="3", out=out
    )
    assert given[0] is out[0]
    np.testing.assert_allclose(out[0].asnumpy(), 3 * x[:, ::2] + 1, rtol=1e-6)
    with mx.autograd.train_mode():
        mx.nd.Custom(whole[:, 3:], w, runs, op_type="test_scaled", out=[whole[:, :3], out[1]])
    np.testing.assert_allclose(whole.asnumpy()[:, :3], x[:, 3:] + 1, rtol=1e-6)
    assert runs.asscalar() == 101


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_nothing_is_computed_of_nothing(shape):
    name = register(f"test_empty_{len(shape)}", copy_forward, copy_backward)
    x = mx.nd.zeros(shape)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward()
    assert y.shape == x.grad.shape == shape


def test_what_is_written_may_be_what_is_read():
    def reverse(op, req, in_data, out_data, **_):
        for i in range(4):
            out_data[0][i] = in_data[0][3 - i]

    x = mx.nd.arange(4)
    mx.nd.Custom(x, op_type=register("test_reverse", reverse), out=x)
    assert x.asnumpy().tolist() == [3, 2, 1, 0]


def test_a_recorded_call_has_the_gradient_of_its_own_object():
    x, w, runs = mx.nd.array([[1, 2]]), mx.nd.array([[3, 4]]), mx.nd.zeros((1,))
    for _ in range(3):
        x.attach_grad()
        w.attach_grad("add")
        w.grad[:] = 5
        with mx.autograd.record():
            out = mx.nd.Custom(x, w, runs, op_type="test_scaled", scale=7)[0]
            loss = (out * out).sum()
        loss.backward()
        out = 7 * np.array([[1, 2]]) + np.array([[3, 4]])
        np.testing.assert_allclose(x.grad.asnumpy(), 2 * out * 7)
        np.testing.assert_allclose(w.grad.asnumpy(), 2 * out + 5)
    assert runs.asscalar() == 3 * 1001


def test_each_call_has_an_object_that_backward_finds():
    def forward(op, req, in_data, out_data, **_):
        op.kept = float(in_data[0].asscalar())
        op.assign(out_data[0], req[0], in_data[0])

    def backward(op, req, out_grad, in_grad, **_):
        op.assign(in_grad[0], req[0], op.kept)

    name = register("test_kept", forward, backward)
    xs = [mx.nd.array([v]) for v in range(10)]
    for x in xs:
        x.attach_grad()
    with mx.autograd.record():
        outs = [mx.nd.Custom(x, op_type=name) for x in xs]
    mx.autograd.backward(outs[::-1], retain_graph=True)
    mx.autograd.backward(outs)
    assert [x.grad.asscalar() for x in xs] == list(range(10))


def test_the_mode_and_the_device_are_those_of_the_call():
    seen = []

    def forward(op, is_train, req, in_data, out_data, **_):
        modes = mx.autograd.is_recording(), mx.autograd.is_training()
        seen.append((is_train, *modes, str(mx.current_context()), str(in_data[0].context)))
        copy_forward(op, req, in_data, out_data)

    name = register("test_modes", forward, copy_backward)
    x = mx.nd.zeros((1,), ctx=mx.cpu(1))
    x.attach_grad()
    for mode in (mx.autograd.pause(), mx.autograd.record(), mx.autograd.record(False)):
        with mode:
            y = mx.nd.Custom(x, op_type=name)
        y.wait_to_read()
    assert seen == [
        (False, False, False, "cpu(1)", "cpu(1)"),
        (True, False, True, "cpu(1)", "cpu(1)"),
        (False, False, False, "cpu(1)", "cpu(1)"),
    ]


def test_autograd_and_other_custom_operators_inside():
    def forward(op, req, in_data, out_data, **_):
        x = in_data[0].copy()
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x * x, op_type="test_inner").sum()
        y.backward()
        out_data[0][:] = mx.nd.Custom(in_data[0], op_type="test_inner") + x.grad

    register("test_inner", copy_forward, copy_backward)
    x = mx.nd.array([1, 2, 3])
    out = mx.nd.Custom(x, op_type=register("test_outer", forward))
    assert out.asnumpy().tolist() == [3, 6, 9]


# -- in graphs -------------------------------------------------------------------------------------


def scaled(**kwargs):
    return mx.sym.Custom(data=mx.sym.Variable("x"), op_type="test_scaled", scale=2, **kwargs)


def test_a_symbol_makes_the_variables_that_are_missing():
    symbol = scaled(name="s")
    assert symbol.list_arguments() == ["x", "s_weight"]
    assert symbol.list_auxiliary_states() == ["s_runs"]
    assert symbol.list_outputs() == ["s_out", "s_largest"]
    assert scaled().name.startswith("custom")
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3), (1,)], [(1,)])
    assert symbol.infer_shape_partial() == ([(), ()], [(), (1,)], [(1,)])
    types = symbol.infer_type(x="float64")
    assert types == ([np.float64] * 2, [np.float64] * 2, [np.float32])
    assert symbol.get_internals().list_outputs() == [
        *("x", "s_weight", "s_runs", "s_out", "s_largest")
    ]


@pytest.mark.parametrize("request_", ["write", "add", "null"])
def test_a_bound_symbol_honours_requests(request_):
    x = RNG.normal(size=(2, 3)).astype("float32")
    symbol = mx.sym.tanh(scaled(name="s")[0]) * 3
    requests = {"x": request_, "s_weight": "write"}
    executor = symbol.simple_bind(mx.cpu(), x=(2, 3), grad_req=requests)
    executor.arg_dict["s_weight"][:] = 0.25
    for step in range(3):
        executor.forward(is_train=True, x=mx.nd.array(x))
        executor.backward(mx.nd.ones((2, 3)))
        out = np.tanh(2 * x + 0.25)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), 3 * out, rtol=1e-4)
        slope = 3 * (1 - out**2)
        np.testing.assert_allclose(executor.grad_dict["s_weight"].asnumpy(), slope, atol=1e-5)
        if request_ != "null":
            factor = 2 * (step + 1 if request_ == "add" else 1)
            np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), factor * slope, atol=1e-4)
    executor.forward(is_train=False)
    assert executor.aux_dict["s_runs"].asscalar() == 3 * 1001 + 100


def test_an_executor_keeps_its_object():
    objects = []

    def forward(op, req, in_data, out_data, **_):
        op.count = getattr(op, "count", 0) + 1
        objects.append(op)
        op.assign(out_data[0], req[0], op.count)

    symbol = mx.sym.Custom(mx.sym.var("x"), op_type=register("test_count", forward, copy_backward))
    executors = [symbol.simple_bind(mx.cpu(), x=(1,)) for _ in range(2)]
    for _ in range(3):
        for executor in executors:
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((1,)))
            executor.forward(is_train=False)
    assert [e.outputs[0].asscalar() for e in executors] == [6, 6]
    assert len(set(objects)) == 2


def test_a_graph_between_other_operators_and_branches():
    register("test_copy", copy_forward, copy_backward)
    x = mx.sym.Variable("x")
    rows = [mx.sym.Custom(mx.sym.exp(x * (i + 1)), op_type="test_copy") + x for i in range(6)]
    symbol = mx.sym.add_n(*rows)
    value = RNG.normal(size=(5, 7))
    executor = symbol.simple_bind(mx.cpu(), x=(5, 7), type_dict={"x": "float64"})
    for _ in range(20):
        executor.forward(is_train=True, x=mx.nd.array(value, dtype="float64"))
        executor.backward(mx.nd.ones((5, 7), dtype="float64"))
    powers = [np.exp(value * (i + 1)) for i in range(6)]
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), sum(powers) + 6 * value)
    slope = sum((i + 1) * p for i, p in enumerate(powers)) + 6
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope)


def test_saved_symbols_load_where_the_operator_is_registered(tmp_path):
    symbol = scaled(name="s")
    node = next(n for n in json.loads(symbol.tojson())["nodes"] if n["op"] == "Custom")
    assert node["attrs"] == {"op_type": "test_scaled", "scale": "2"}
    assert json.loads(symbol.tojson())["node_row_ptr"] == [0, 1, 2, 3, 5]
    symbol.save(str(tmp_path / "s.json"))
    loaded = mx.sym.load(str(tmp_path / "s.json"))
    assert loaded.tojson() == symbol.tojson()
    out = loaded.simple_bind(mx.cpu(), x=(1, 2)).forward(x=mx.nd.ones((1, 2)))[0]
    assert out.asnumpy().tolist() == [[2, 2]]
    missing = symbol.tojson().replace("test_scaled", "test_skaled")
    with pytest.raises(FileFormatError, match=r"'test_skaled' \(did you mean test_scaled"):
        mx.sym.load_json(missing)


def test_a_recorded_graph_is_a_symbol():
    x = mx.nd.ones((1, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, mx.nd.ones((1, 2)), mx.nd.zeros((1,)), op_type="test_scaled")[0]
    assert mx.autograd.get_symbol(y).list_arguments() == ["var0", "var1"]


# -- dependencies ----------------------------------------------------------------------------------


def test_backward_gets_what_is_declared():
    def forward(op, req, in_data, out_data, **_):
        op.assign(out_data[0], req[0], mx.nd.exp(in_data[0]))

    def backward(op, req, out_grad, in_data, out_data, in_grad, **_):
        assert in_data[0].shape == (2, 2)
        assert in_data[0].dtype == "float32"
        op.assign(in_grad[0], req[0], out_grad[0] * out_data[0])

    def depends(self, out_grad, in_data, out_data):
        assert (out_grad, in_data, out_data) == ([0], [1], [2])
        return [*out_grad, *out_data]

    name = register("test_exp", forward, backward, declare_backward_dependency=depends)
    value = RNG.normal(size=(2, 2)).astype("float32")
    x = mx.nd.array(value)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    with mx.autograd.pause():
        x[:] = 100  # which backward does not read
    y.backward(mx.nd.ones((2, 2)) * 2)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp(value), rtol=1e-6)
    executor = mx.sym.Custom(mx.sym.var("x") * 2, op_type=name).simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=mx.nd.array(value))
    executor.backward(mx.nd.ones((2, 2)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * np.exp(2 * value), rtol=1e-5)


def test_backward_that_reads_more_is_an_error_that_says_what():
    def backward(op, req, in_data, in_grad, **_):
        op.assign(in_grad[0], req[0], in_data[0] * 2)

    def depends(self, out_grad, in_data, out_data):
        return out_grad

    name = register("test_liar", copy_forward, backward, declare_backward_dependency=depends)
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward()
    with pytest.raises(
        InvalidArgumentError, match="'test_liar': backward reads 'data', which decl"
    ):
        x.grad.wait_to_read()


def test_a_loss_needs_no_gradient_of_its_output():
    def backward(op, req, in_data, in_grad, **_):
        op.assign(in_grad[0], req[0], in_data[0] - 1)

    def init(self):
        mx.operator.CustomOpProp.__init__(self, need_top_grad=False)

    name = register("test_loss", copy_forward, backward, __init__=init)
    executor = mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([3, 4]))
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [2, 3]


# -- errors ----------------------------------------------------------------------------------------


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


def test_many_threads():
    wrong = []

    def work(seed):
        value = np.random.default_rng(seed).normal(size=(3, 4)).astype("float32")
        x, w, runs = mx.nd.array(value), mx.nd.ones((3, 4)), mx.nd.zeros((1,))
        x.attach_grad()
        executor = scaled(name="s").simple_bind(mx.cpu(), x=(3, 4))
        executor.arg_dict["s_weight"][:] = 1
        for _ in range(30):
            with mx.autograd.record():
                y = mx.nd.Custom(x, w, runs, op_type="test_scaled", scale=seed)[0]
            y.backward()
            executor.forward(is_train=True, x=x)
            executor.backward([mx.nd.ones((3, 4)), mx.nd.ones((1,))])
            found = [y, x.grad, executor.outputs[0], executor.grad_dict["x"]]
            wanted = [value * seed + 1, np.full((3, 4), seed), 2 * value + 1, np.full((3, 4), 2)]
            for a, b in zip(found, wanted, strict=True):
                if not np.allclose(a.asnumpy(), b, atol=1e-5):
                    wrong.append((seed, a, b))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Counted(mx.operator.CustomOpProp):
    """A property that says how many there are."""

    alive: ClassVar[weakref.WeakSet] = weakref.WeakSet()

    def __init__(self, step=0):
        super().__init__()
        Counted.alive.add(self)

    def create_operator(self, ctx, shapes, dtypes):
        return Same()


class Same(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


mx.operator.register("counted")(Counted)


def test_few_properties_are_kept():
    for step in range(300):
        x = mx.nd.ones((step + 1,))
        mx.nd.Custom(x, op_type="counted").wait_to_read()
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="counted", step=step)
        y.backward()
        symbol = mx.sym.Custom(mx.sym.var("x"), op_type="counted", step=step)
        executor = symbol.simple_bind(mx.cpu(), x=(step + 1,))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((step + 1,)))
    mx.nd.waitall()
    gc.collect()
    assert len(Counted.alive) < 200  # of 1,800 that were made


def test_arrays_without_axes():
    with mx.np_shape(True):
        x = mx.nd.ones(()) * 3
        assert mx.nd.Custom(x, op_type="counted").asnumpy().tolist() == 3
        total = mx.nd.ones(())
        mx.operator.CustomOp().assign(total, "add", x)
        assert total.asnumpy().tolist() == 4
