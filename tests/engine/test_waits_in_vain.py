"""Waits inside functions for what depends on the functions themselves: errors, and no hangs."""

from __future__ import annotations

import threading

import pytest

import ferromix as mx
from ferromix.error import MXNetError

engine = mx.engine
IN_VAIN = "depends on the operation itself"
pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(engine.num_workers() == 0, reason="the naive engine's push runs it"),
]

WAITS = {
    "wait_to_read": lambda own, behind: behind.wait_to_read(),
    "asnumpy": lambda own, behind: behind.asnumpy(),
    "wait_to_write": lambda own, behind: engine.wait_to_write(behind),
    "of a result": lambda own, behind: (behind + 1).wait_to_read(),
    "an operation that reads it": lambda own, behind: own.__setitem__(slice(None), behind),
    "an operation that writes it": lambda own, behind: behind.__setitem__(slice(None), own),
    "a custom operator": lambda own, behind: mx.nd.Custom(
        behind, op_type="test_vain_copy", out=own
    ),
}


class Copy(mx.operator.CustomOp):
    """Calls a function first."""

    def __init__(self, first=lambda: None):
        super().__init__()
        self.first = first

    def forward(self, is_train, req, in_data, out_data, aux):
        self.first()
        self.assign(out_data[0], req[0], in_data[0])


@mx.operator.register("test_vain_copy")
class CopyProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Copy()


class Load:
    """Another thread that keeps the engine busy, so that something always goes on."""

    def __enter__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        a = mx.nd.ones((50, 50))
        while not self.stop.is_set():
            a = mx.nd.dot(a, a) / 50
            a.wait_to_read()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@pytest.mark.parametrize("way", WAITS)
def test_a_function_that_waits_for_what_depends_on_itself(way):
    own, behind, go = mx.nd.ones((2,)), mx.nd.zeros((2,)), threading.Event()

    def wait():
        go.wait()
        WAITS[way](own, behind)

    with Load():
        engine.push(wait, mutable_vars=[own])
        middle = own + 1
        behind[:] = middle
        go.set()
        with pytest.raises(MXNetError, match=IN_VAIN):
            own.wait_to_read()
    engine.wait_to_write(behind)
    assert (own + 1).asnumpy().tolist() == [2, 2]
    behind[:] = own
    assert behind.asnumpy().tolist() == [1, 1]


def test_functions_that_wait_for_each_other():
    own = [engine.new_variable() for _ in range(2)]
    behind = [engine.new_variable() for _ in range(2)]
    go = threading.Event()

    def wait(i):
        go.wait()
        engine.wait_for_var(behind[1 - i])

    for i in range(2):
        engine.push(lambda i=i: wait(i), mutable_vars=[own[i]])
    for i in range(2):
        engine.push(lambda: None, const_vars=[own[i]], mutable_vars=[behind[i]])
    go.set()
    errors = []
    for var in own:
        try:
            engine.wait_for_var(var)
        except MXNetError as error:
            errors.append(str(error))
    # The one of the first may have surfaced in the second.
    assert errors
    assert all(IN_VAIN in error for error in errors)


def test_a_step_of_a_graph_that_waits_for_what_depends_on_the_pass():
    behind, go = mx.nd.zeros((2,)), threading.Event()

    def wait():
        go.wait()
        behind.wait_to_read()

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Copy(wait)

    mx.operator.register("test_vain_step")(Prop)
    executor = mx.sym.Custom(mx.sym.var("x"), op_type="test_vain_step").simple_bind(
        mx.cpu(), x=(2,)
    )
    behind[:] = executor.forward()[0] + 1
    go.set()
    with pytest.raises(MXNetError, match=IN_VAIN):
        behind.wait_to_read()


def test_a_wait_for_something_slow_is_not_in_vain():
    """Functions that run, and callbacks that are to come, take longer than all the looks."""
    own, slow, done = mx.nd.zeros((1,)), mx.nd.zeros((1,)), engine.new_variable()
    release, started = threading.Event(), threading.Event()

    def start(on_complete):
        timer = threading.Timer(1.5, on_complete)
        timer.start()

    def hold():
        started.set()
        release.wait()
        slow[:] = 7

    def wait():
        engine.wait_for_var(done)
        threading.Timer(1.5, release.set).start()
        own[:] = slow * 2

    engine.push_async(start, mutable_vars=[done])
    engine.push(hold, mutable_vars=[slow])
    started.wait()
    engine.push(wait, mutable_vars=[own])
    assert own.asscalar() == 14
