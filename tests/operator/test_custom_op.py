"""Operators registered by name: imperative and recorded calls."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import ClassVar

import numpy as np
import pytest
from customs import copy_backward, copy_forward, register, scaled

import ferromix as mx

RNG = np.random.default_rng(16)


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
