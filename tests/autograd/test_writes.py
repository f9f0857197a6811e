"""Writes into arrays of the tape: refused while recording, else noticed by the backward pass."""

import inspect

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

ag = mx.autograd


def variable(values=(1.0, 2.0, 3.0)):
    x = mx.nd.array(values)
    x.attach_grad()
    return x


def add_to(a):
    a += 1


def assign(a):
    a[:] = 1


def assign_part(a):
    a[1] = 1


def assign_picked(a):
    a[mx.nd.array([0, 2])] = 1


def give_as_out(a):
    mx.nd.ones_like(mx.nd.zeros((3,)), out=a)


def copy_into(a):
    mx.nd.zeros((3,)).copyto(a)


def fill(a):
    mx.nd.full((3,), 2.0, out=a)


WRITES = [add_to, assign, assign_part, assign_picked, give_as_out, copy_into, fill]


@pytest.mark.parametrize("write", WRITES, ids=lambda w: w.__name__)
@pytest.mark.parametrize("which", ["variable", "result", "view"])
def test_writes_while_recording_are_refused(write, which):
    x = variable()
    with ag.record():
        y = x * x
        target = {"variable": x, "result": y, "view": (x * 1)[0:3]}[which]
        before = target.asnumpy()
        with pytest.raises(
            InvalidArgumentError, match=r"^operator \w+: would overwrite an array of shape \[3\]"
        ):
            write(target)
    np.testing.assert_array_equal(target.asnumpy(), before)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4, 6])


@pytest.mark.parametrize("write", WRITES, ids=lambda w: w.__name__)
def test_writes_afterwards_are_noticed_where_the_values_are_needed(write):
    x = variable()
    with ag.record():
        line = inspect.currentframe().f_lineno + 1
        y = mx.nd.square(x)
    write(x)
    with pytest.raises(
        InvalidArgumentError,
        match=rf"operator square, recorded at .*test_writes\.py:{line}, needs its input 0",
    ):
        y.backward()


def test_results_that_the_gradient_reads_are_watched():
    x = variable()
    with ag.record():
        y = mx.nd.exp(x)
    y += 1
    with pytest.raises(InvalidArgumentError, match=r"operator exp, .* needs its output 0"):
        y.backward()


def test_values_that_no_rule_reads_may_change():
    x = variable()
    with ag.record():
        y = x * 3
        z = y + x
    x[:] = 7
    y[:] = 8
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [4, 4, 4])


def test_writes_through_a_view_are_noticed():
    x = variable()
    alias = x[0:1]
    with ag.record():
        y = x * x
        alias[:] = 5  # not on the tape itself
    with pytest.raises(InvalidArgumentError, match=r"broadcast_mul, .* needs its input"):
        y.backward()


def test_writes_of_executors_and_of_functions_are_noticed():
    data = mx.sym.Variable("data")
    executor = (data * 2).bind(mx.cpu(), {"data": mx.nd.ones((3,))})
    out = executor.forward()[0]
    x = variable()
    with ag.record():
        y = x * out
        z = x * x
    executor.forward()
    with pytest.raises(InvalidArgumentError, match="overwritten since"):
        y.backward()
    mx.engine.push(lambda: None, mutable_vars=[x])
    with pytest.raises(InvalidArgumentError, match="overwritten since"):
        z.backward()


def test_results_cannot_go_into_inputs():
    x, c = variable(), mx.nd.zeros((3,))
    with ag.record():
        with pytest.raises(InvalidArgumentError, match="broadcast_add: cannot write its result"):
            c += x
        with pytest.raises(InvalidArgumentError, match="broadcast_mul: cannot write its result"):
            mx.nd.broadcast_mul(c[0:3], x, out=c)


def test_recorded_values_cannot_go_into_a_part():
    x, c = variable(), mx.nd.zeros((2, 3))
    with ag.record():
        y = x * 2
        for key in (0, slice(0, 1), slice(None), (slice(None), mx.nd.array([1]))):
            with pytest.raises(InvalidArgumentError, match="its gradient would be lost"):
                c[key] = y
        with ag.pause():
            c[0] = y
    np.testing.assert_array_equal(c.asnumpy(), [[2, 4, 6], [0, 0, 0]])


def test_constants_may_be_written():
    x, c = variable(), mx.nd.zeros((3,))
    with ag.record():
        c[:] = 2
        c += 1
        y = x * c
        out = mx.nd.zeros((3,))
        mx.nd.broadcast_mul(y, y, out=out)
    out.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [18, 36, 54])


def test_updates_between_backward_passes():
    w = variable()
    for _ in range(3):
        with ag.record():
            loss = (w * w).sum()
        loss.backward()
        w -= 0.25 * w.grad
    np.testing.assert_array_equal(w.asnumpy(), np.array([1, 2, 3]) / 8)
