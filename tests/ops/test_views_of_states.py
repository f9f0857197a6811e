"""States that are views with gaps keep what a kernel leaves as it is."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

S = mx.sym


def gaps(values, dtype="float32"):
    """A view of every second number."""
    return mx.nd.array(np.repeat(values, 2), dtype=dtype)[::2]


@pytest.mark.parametrize("op", ["BatchNorm", "contrib.SyncBatchNorm", "contrib.BatchNormWithReLU"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frozen_statistics(op, dtype):
    mean, var = gaps([0, 2, 4], dtype), gaps([1, 3, 5], dtype)
    x, one, zero = (mx.nd.ones(s, dtype=dtype) for s in ((4, 3), (3,), (3,)))
    x.attach_grad()
    function = mx.nd
    for part in op.split("."):
        function = getattr(function, part)
    more = {"key": "views"} if "Sync" in op else {}
    with mx.autograd.record():
        y = function(x, one, zero, mean, var, use_global_stats=True, **more)
    y.backward()
    assert mean.asnumpy().tolist() == [0, 2, 4]
    assert var.asnumpy().tolist() == [1, 3, 5]


def test_frozen_statistics_of_a_bound_graph():
    net = S.BatchNorm(S.Variable("x"), use_global_stats=True, name="b")
    table = mx.nd.array([[0, 9], [2, 9], [4, 9]])
    executor = net.bind(
        mx.current_context(),
        {"x": mx.nd.ones((4, 3)), "b_gamma": mx.nd.ones((3,)), "b_beta": mx.nd.zeros((3,))},
        {"x": mx.nd.ones((4, 3))},
        aux_states=[table[:, 0], gaps([1, 3, 5])],
    )
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 3)))
    assert table.asnumpy().tolist() == [[0, 9], [2, 9], [4, 9]]
    assert executor.aux_dict["b_moving_var"].asnumpy().tolist() == [1, 3, 5]


@pytest.mark.parametrize("scale", [np.inf, np.nan, 0])
def test_a_step_that_is_left_out(scale):
    mean, var, weight = gaps([3, 4]), gaps([5, 6]), gaps([1, 2])
    factor = mx.nd.array([scale])
    mx.nd.contrib.adamw_update(
        weight, mx.nd.ones((2,)), mean, var, factor, lr=0.1, eta=1.0, out=weight
    )
    found = [x.asnumpy().tolist() for x in (weight, mean, var)]
    assert found == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("where", ["c_bias", "b_gamma", "b_beta", "b_moving_mean", "b_moving_var"])
def test_a_convolution_with_what_follows(where):
    """In inference, as one step."""
    net = S.BatchNorm(S.Convolution(S.Variable("x"), kernel=(1,), num_filter=4, name="c"), name="b")
    random, results = np.random.default_rng(1), []
    shapes = {"x": (1, 3, 5), "c_weight": (4, 3, 1)}
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    values = {n: random.uniform(0.5, 1, shapes.get(n, (4,))) for n in names}
    for view in (False, True):
        arrays = {n: gaps(v) if view and n == where else mx.nd.array(v) for n, v in values.items()}
        states = {n: arrays.pop(n) for n in net.list_auxiliary_states()}
        executor = net.bind(mx.current_context(), arrays, grad_req="null", aux_states=states)
        results += [executor.forward(is_train=False)[0].asnumpy() for _ in range(2)]
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
