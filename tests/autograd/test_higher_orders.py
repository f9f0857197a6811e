"""Derivatives of derivatives, against what is known of the functions."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

ag = mx.autograd


def test_all_derivatives_of_a_power():
    values = np.array([0.5, -1.0, 2.0])
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with ag.record():
        y = x * x * x * x
        for factor, power in ((4, 3), (12, 2), (24, 1), (24, 0)):
            (y,) = ag.grad(y, x, create_graph=True)
            np.testing.assert_allclose(y.asnumpy(), factor * values**power, rtol=1e-14)


def test_sine_four_times():
    values = np.linspace(-2, 2, 5)
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with ag.record():
        y = mx.nd.sin(x)
        for wanted in (np.cos(values), -np.sin(values), -np.cos(values), np.sin(values)):
            (y,) = ag.grad(y, x, create_graph=True)
            np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-13, atol=1e-15)


def test_a_penalty_on_the_gradient():
    random = np.random.default_rng(0)
    data, weight = random.standard_normal((4, 3)), random.standard_normal((2, 3))

    def penalty(w):
        x = mx.nd.array(data, dtype="float64")
        x.attach_grad()
        with ag.record():
            out = mx.nd.tanh(mx.nd.FullyConnected(x, w, num_hidden=2, no_bias=True))
            (slope,) = ag.grad(out, x, create_graph=True)
            return (slope * slope).sum()

    w = mx.nd.array(weight, dtype="float64")
    w.attach_grad()
    penalty(w).backward()
    step, direction = 1e-6, random.standard_normal(weight.shape)
    ends = [
        float(penalty(mx.nd.array(weight + s * direction, dtype="float64"))) for s in (step, -step)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    assert abs((w.grad.asnumpy() * direction).sum() - slope) < 1e-7


def test_head_gradients_are_differentiated_too():
    x, head = (mx.nd.array([v], dtype="float64") for v in (3.0, 5.0))
    x.attach_grad()
    head.attach_grad()
    with ag.record():
        (first,) = ag.grad(x * x, x, head, create_graph=True)
    first.backward()
    assert head.grad.asscalar() == 6
    assert x.grad.asscalar() == 10


def test_without_create_graph_nothing_is_recorded():
    x = mx.nd.array([3.0])
    x.attach_grad()
    with ag.record():
        (first,) = ag.grad(x * x, x)
    assert not first.handle.is_recorded


def test_create_graph_keeps_the_graph():
    x = mx.nd.array([3.0])
    x.attach_grad()
    with ag.record():
        y = x * x
    (first,) = ag.grad(y, x, create_graph=True)
    y.backward()
    assert first.asscalar() == x.grad.asscalar() == 6


def test_a_penalty_on_the_gradient_through_a_small_network():
    random = np.random.default_rng(4)
    data, weight = random.standard_normal((3, 2, 6, 6)), random.standard_normal((4, 2, 3, 3))
    gamma, beta, mean, var = (np.ones(4), np.zeros(4), np.zeros(4), np.ones(4))
    gamma = gamma + random.standard_normal(4) / 4

    def penalty(*weights):
        x = mx.nd.array(data, dtype="float64")
        states = [mx.nd.array(s, dtype="float64") for s in (mean, var)]
        x.attach_grad()
        with ag.record():
            out = mx.nd.Convolution(x, weights[0], kernel=(3, 3), num_filter=4, no_bias=True)
            out = mx.nd.BatchNorm(out, weights[1], weights[2], *states, fix_gamma=False)
            out = mx.nd.LeakyReLU(out, act_type="elu", slope=0.5)
            out = mx.nd.Pooling(out, kernel=(2, 2), stride=(2, 2), pool_type="max")
            (slope,) = ag.grad(out * out, x, create_graph=True)
            return (slope * slope).sum()

    values = [weight, gamma, beta]
    weights = [mx.nd.array(v, dtype="float64") for v in values]
    for w in weights:
        w.attach_grad()
    penalty(*weights).backward()
    for k, w in enumerate(weights):
        step, direction = 1e-6, random.standard_normal(w.shape)
        ends = []
        for s in (step, -step):
            moved = [v + (s * direction if i == k else 0) for i, v in enumerate(values)]
            ends.append(float(penalty(*[mx.nd.array(m, dtype="float64") for m in moved])))
        slope = (ends[0] - ends[1]) / (2 * step)
        found = (w.grad.asnumpy() * direction).sum()
        assert abs(found - slope) < 1e-6 * max(1, abs(slope))


def test_batch_norm_has_no_third_derivative():
    x = mx.nd.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    ones, zeros = mx.nd.ones((2,)), mx.nd.zeros((2,))
    x.attach_grad()
    with ag.record():
        y = mx.nd.BatchNorm(x, ones, zeros, zeros.copy(), ones.copy()) ** 3
        (first,) = ag.grad(y, x, create_graph=True)
        (second,) = ag.grad(first * first, x, create_graph=True)
    with pytest.raises(InvalidArgumentError, match="_normalized: its gradient is not implemented"):
        second.backward()
