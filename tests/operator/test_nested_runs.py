"""Functions of operators that use operators and wait for them, more than there are threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ferromix as mx


class Nested(mx.operator.CustomOp):
    """``out = data + depth``, by runs of itself."""

    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def forward(self, is_train, req, in_data, out_data, aux):
        data = in_data[0]
        if self.depth:
            data = mx.nd.Custom(data + 1, op_type="test_nested", depth=self.depth - 1)
        self.assign(out_data[0], req[0], data)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        grad = out_grad[0]
        if self.depth:
            grad = mx.nd.Custom(grad, op_type="test_nested", depth=0)
        self.assign(in_grad[0], req[0], grad)


@mx.operator.register("test_nested")
class NestedProp(mx.operator.CustomOpProp):
    def __init__(self, depth="0"):
        super().__init__()
        self.depth = int(depth)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Nested(self.depth)


class Joining(mx.operator.CustomOp):
    """``out = data + 1``, by a thread that the function waits for."""

    def forward(self, is_train, req, in_data, out_data, aux):
        values, found = in_data[0].asnumpy(), []

        def work():
            found.append(mx.nd.Custom(mx.nd.array(values) + 1, op_type="test_nested").asnumpy())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assign(out_data[0], req[0], mx.nd.array(found[0]))


@mx.operator.register("test_joining")
class JoiningProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Joining()


@pytest.mark.parametrize(("runs", "depth"), [(600, 1), (300, 3), (1, 400)])
def test_more_runs_than_threads_that_wait_for_nested_ones(runs, depth):
    inputs = [mx.nd.array([i, -i]) for i in range(runs)]
    outputs = [mx.nd.Custom(x, op_type="test_nested", depth=depth) for x in inputs]
    found = np.stack([y.asnumpy() for y in outputs])
    np.testing.assert_array_equal(found, np.arange(runs)[:, None] * [1.0, -1.0] + depth)


def test_many_recorded_runs_with_nested_ones_in_both_passes():
    inputs = [mx.nd.array([i]) for i in range(300)]
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        outputs = [mx.nd.Custom(x, op_type="test_nested", depth=1) * 3 for x in inputs]
    mx.autograd.backward(outputs)
    assert [x.grad.item() for x in inputs] == [3.0] * 300
    assert [y.item() for y in outputs] == [3.0 * (i + 1) for i in range(300)]


def test_pushed_functions_that_wait_for_operators():
    results = [mx.nd.zeros((2,)) for _ in range(400)]

    def function(out):
        out[:] = mx.nd.Custom(mx.nd.ones((2,)), op_type="test_nested", depth=0)

    for out in results:
        mx.engine.push(lambda out=out: function(out), mx.cpu(), mutable_vars=[out])
    assert sum(out.asnumpy().sum() for out in results) == 800


def test_functions_that_wait_for_threads_of_their_own():
    outputs = [mx.nd.Custom(mx.nd.array([i]), op_type="test_joining") for i in range(12)]
    assert [y.item() for y in outputs] == list(range(1, 13))


@pytest.mark.parametrize("wait", [mx.nd.waitall, mx.engine.wait_for_all])
def test_a_wait_for_all_includes_what_functions_push(wait):
    log = []

    def step(left):
        log.append(left)
        if left:
            mx.engine.push(lambda: step(left - 1), mx.cpu())

    mx.engine.push(lambda: step(20), mx.cpu())
    wait()
    assert log == list(range(20, -1, -1))


def test_a_wait_for_all_includes_what_is_pushed_before_a_late_completion():
    log = []

    def late(on_complete):
        def work():
            mx.engine.push(lambda: log.append("pushed"), mx.cpu())
            on_complete()

        threading.Timer(0.05, work).start()

    mx.engine.push_async(late, mx.cpu())
    mx.engine.wait_for_all()
    assert log == ["pushed"]
