"""When the running statistics of BatchNorm move: whatever its gradient, if it is on a way to the
outputs of what is trained."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

S = mx.sym
X = np.arange(12, dtype="float32").reshape(4, 3)
MEAN, VARIANCE = X.mean(0), X.var(0, ddof=0)
WEIGHT = S.Variable("w")
BEHIND = {
    "itself": lambda x: x * WEIGHT,
    "BlockGrad": lambda x: S.BlockGrad(x) * WEIGHT,
    "comparison": lambda x: (x > 0) * WEIGHT,
    "sign": lambda x: S.sign(x) * WEIGHT,
    "ones_like": lambda x: S.ones_like(x) * WEIGHT,
    "one of two": lambda x: S.Group([S.BlockGrad(x), WEIGHT * 2]),
}


def moved(passes):
    """Mean and variance after so many passes, from 0 and 1, with a momentum of a half."""
    share = 0.5**passes
    return MEAN * (1 - share), share + VARIANCE * (1 - share)


def check(states, passes):
    for found, expected in zip(states, moved(passes), strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def norm(data):
    return S.BatchNorm(data, name="bn", momentum=0.5, fix_gamma=False)


def bound(net, grad_req="write"):
    shapes = {"data": X.shape} | ({"w": X.shape} if "w" in net.list_arguments() else {})
    executor = net.simple_bind(mx.cpu(), grad_req, **shapes)
    executor.arg_dict["data"][:] = X
    executor.arg_dict["bn_gamma"][:] = 1
    executor.aux_dict["bn_moving_var"][:] = 1
    return executor


@pytest.mark.parametrize("name", BEHIND)
def test_they_move_in_each_training_pass(name):
    executor = bound(BEHIND[name](norm(S.Variable("data"))))
    for passes in (1, 2):
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
        check(executor.aux_arrays, passes)
    if name != "itself":
        assert not executor.grad_dict["bn_gamma"].asnumpy().any()
        assert not executor.grad_dict["data"].asnumpy().any()


def test_of_two_in_a_row_both_move():
    data = S.Variable("data")
    first = norm(data)
    second = S.BatchNorm(first, name="second", momentum=0.5, fix_gamma=False)
    executor = bound(S.BlockGrad(second) * WEIGHT)
    executor.arg_dict["second_gamma"][:] = 1
    executor.aux_dict["second_moving_var"][:] = 1
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(X.shape)])
    check([executor.aux_dict["bn_moving_mean"], executor.aux_dict["bn_moving_var"]], 1)
    np.testing.assert_allclose(executor.aux_dict["second_moving_mean"].asnumpy(), 0, atol=1e-6)
    # The variance of what was normalised is 1, but for epsilon.
    np.testing.assert_allclose(executor.aux_dict["second_moving_var"].asnumpy(), 1, atol=1e-3)


def test_they_stay_where_they_are_used_or_nothing_is_trained():
    fixed = S.BatchNorm(S.Variable("data"), name="bn", use_global_stats=True, fix_gamma=False)
    for net, grad_req in (
        (S.BlockGrad(fixed) * WEIGHT, "write"),
        (norm(S.Variable("data")), "null"),
    ):
        executor = bound(net, grad_req)
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(X.shape)])
        check(executor.aux_arrays, 0)


def test_they_move_while_recording():
    data, weight = mx.nd.array(X), mx.nd.ones(X.shape)
    gamma, beta, mean = mx.nd.ones(3), mx.nd.zeros(3), mx.nd.zeros(3)
    variance = mx.nd.ones(3)
    gamma.attach_grad()
    weight.attach_grad()
    for passes in (1, 2):
        with mx.autograd.record():
            x = mx.nd.BatchNorm(data, gamma, beta, mean, variance, momentum=0.5, fix_gamma=False)
            y = mx.nd.BlockGrad(x) * weight
        y.backward()
        check([mean, variance], passes)
    np.testing.assert_array_equal(gamma.grad.asnumpy(), 0)
