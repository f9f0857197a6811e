"""Forward passes step by step."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError


def network():
    net = S.FullyConnected(S.Variable("data"), num_hidden=3, name="fc")
    net = S.BatchNorm(S.Reshape(net, shape=(-1, 1, 3), name="rs"), axis=2, name="bn")
    return S.Group([S.sum(net * net), S.khatri_rao(net.reshape((-1, 3)), net.reshape((-1, 3)))])


def bound(**kwargs):
    executor = network().simple_bind(mx.cpu(), data=(4, 5), **kwargs)
    rng = np.random.default_rng(0)
    for array in executor.arg_dict.values():
        array[:] = rng.standard_normal(array.shape)
    return executor


def in_steps(executor, is_train):
    """MXNet's loop; gives what each step said."""
    said, step = [1], 0
    while said[-1]:
        said.append(executor.partial_forward(is_train, step))
        step += 1
    return said[1:]


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("monitored", [True, False])
def test_all_steps_are_a_forward_pass(is_train, monitored):
    whole, parts, names = bound(), bound(), []
    if monitored:
        parts.set_monitor_callback(lambda name, _: names.append(name))
    whole.forward(is_train)
    assert in_steps(parts, is_train) == list(range(7, -1, -1))
    heads = [mx.nd.ones(o.shape) for o in whole.outputs]
    for executor in (whole, parts):
        executor.backward(heads)
    for found, expected in zip(parts.outputs, whole.outputs, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    for name, expected in {**whole.grad_dict, **whole.aux_dict}.items():
        found = {**parts.grad_dict, **parts.aux_dict}[name]
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    assert bool(names) == monitored


def test_a_step_runs_one_operator():
    y = S.Variable("x") + 1
    executor = S.Group([y, y * 2]).bind(mx.cpu(), {"x": mx.nd.ones((2,))})
    for out in executor.outputs:
        out[:] = 0
    assert executor.partial_forward() == 1
    assert [o.asnumpy().tolist() for o in executor.outputs] == [[2, 2], [0, 0]]
    assert executor.partial_forward(step=1) == 0
    assert [o.asnumpy().tolist() for o in executor.outputs] == [[2, 2], [4, 4]]
    assert executor.partial_forward(step=7) == 0


def test_variables_alone_have_no_steps():
    executor = S.Variable("x").bind(mx.cpu(), {"x": mx.nd.ones((2,))})
    assert executor.partial_forward() == 0
    assert executor.outputs[0].asnumpy().tolist() == [1, 1]


def test_steps_out_of_order_are_refused():
    executor = bound()
    with pytest.raises(InvalidArgumentError, match=r"step 1 .*steps before"):
        executor.partial_forward(step=1)
    executor.partial_forward(True, 0)
    with pytest.raises(InvalidArgumentError, match="step 1 with is_train=False"):
        executor.partial_forward(False, 1)
    with pytest.raises(InvalidArgumentError, match="at least 0"):
        executor.partial_forward(False, -1)
    with pytest.raises(InvalidArgumentError, match="forward pass"):
        executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    assert executor.partial_forward(True, 1) == 6


def test_another_executor_between_steps_is_noticed():
    first = bound()
    second = network().simple_bind(mx.cpu(), data=(4, 5), shared_exec=first)
    first.partial_forward(True, 0)
    second.forward()
    with pytest.raises(InvalidArgumentError, match="another executor"):
        first.partial_forward(True, 1)


def test_random_numbers_are_those_of_one_pass():
    net = S.Dropout(S.Dropout(S.Variable("x"), p=0.5) + 1, p=0.3)
    results = []
    for stepwise in (False, True):
        mx.random.seed(3)
        executor = net.bind(mx.cpu(), {"x": mx.nd.ones((50,))})
        if stepwise:
            in_steps(executor, True)
        else:
            executor.forward(is_train=True)
        results.append(executor.outputs[0].asnumpy())
    np.testing.assert_array_equal(*results)
