"""SGD and Adam against their formulas in NumPy, and against numbers that MXNet 1.9.1 computed."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

RNG_SHAPES = [(7,), (3, 4), (1,), (0, 3), (2, 3, 2, 2)]


def reference_sgd(weight, grads, lr, momentum=0.0, wd=0.0, rescale=1.0, clip=None):
    weight = weight.astype(np.float64)
    velocity = np.zeros_like(weight)
    for grad in grads:
        g = rescale * grad.astype(np.float64)
        if clip is not None:
            g = np.clip(g, -clip, clip)
        velocity = momentum * velocity - lr * (g + wd * weight)
        weight = weight + velocity
    return weight


def reference_adam(weight, grads, lr, beta1, beta2, eps, wd=0.0, rescale=1.0, clip=None):
    weight = weight.astype(np.float64)
    mean, var = np.zeros_like(weight), np.zeros_like(weight)
    for t, grad in enumerate(grads, start=1):
        g = rescale * grad.astype(np.float64) + wd * weight
        if clip is not None:
            g = np.clip(g, -clip, clip)
        mean = beta1 * mean + (1 - beta1) * g
        var = beta2 * var + (1 - beta2) * g * g
        rate = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        weight = weight - rate * mean / (np.sqrt(var) + eps)
    return weight


def train(optimizer, weight, grads, dtype="float32"):
    w = mx.nd.array(weight, dtype=dtype)
    state = optimizer.create_state(0, w)
    for grad in grads:
        optimizer.update(0, w, mx.nd.array(grad, dtype=dtype), state)
    return w.asnumpy()


def sample(shape, steps=4):
    rng = np.random.default_rng(3)
    return rng.normal(size=shape), [rng.normal(size=shape) for _ in range(steps)]


@pytest.mark.parametrize("shape", RNG_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("clip", [None, 0.4])
def test_sgd(shape, dtype, momentum, clip):
    weight, grads = sample(shape)
    sgd = mx.optimizer.SGD(
        momentum=momentum, learning_rate=0.1, wd=0.05, rescale_grad=0.5, clip_gradient=clip
    )
    expected = reference_sgd(weight, grads, 0.1, momentum, 0.05, 0.5, clip)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(
        train(sgd, weight, grads, dtype), expected, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("shape", RNG_SHAPES, ids=str)
@pytest.mark.parametrize("clip", [None, 0.4])
def test_adam(shape, clip):
    weight, grads = sample(shape)
    adam = mx.optimizer.Adam(0.02, 0.8, 0.99, 1e-6, wd=0.05, rescale_grad=0.5, clip_gradient=clip)
    expected = reference_adam(weight, grads, 0.02, 0.8, 0.99, 1e-6, 0.05, 0.5, clip)
    np.testing.assert_allclose(train(adam, weight, grads), expected, rtol=1e-5, atol=1e-5)


def test_three_steps_as_in_mxnet():
    """Weights after three steps from (1, -2) with gradients (0.1, 3), computed by MXNet 1.9.1."""
    options = {"learning_rate": 0.1, "wd": 0.1, "clip_gradient": 0.5, "rescale_grad": 2.0}
    weight, grads = np.array([1.0, -2.0]), [np.array([0.1, 3.0])] * 3
    sgd = mx.optimizer.SGD(momentum=0.9, **options)
    np.testing.assert_allclose(train(sgd, weight, grads), [0.83313704, -2.166863], rtol=1e-6)
    adam = mx.optimizer.Adam(**options)
    np.testing.assert_allclose(train(adam, weight, grads), [0.7003798, -2.3000019], rtol=1e-6)


def test_states_hold_what_mxnet_holds():
    """Momentum and moments after the three steps above, computed by MXNet 1.9.1."""
    options = {"learning_rate": 0.1, "wd": 0.1, "clip_gradient": 0.5, "rescale_grad": 2.0}
    grad = mx.nd.array([0.1, 3.0])
    found = []
    for optimizer in (mx.optimizer.SGD(momentum=0.9, **options), mx.optimizer.Adam(**options)):
        weight = mx.nd.array([1.0, -2.0])
        state = optimizer.create_state(0, weight)
        for _ in range(3):
            optimizer.update(0, weight, grad, state)
        found += [state] if isinstance(state, mx.NDArray) else list(state)
    momentum, mean, var = (a.asnumpy() for a in found)
    np.testing.assert_allclose(momentum, [-0.080163, -0.080163], rtol=1e-5)
    np.testing.assert_allclose(mean, [0.07840103, 0.13550003], rtol=1e-6)
    np.testing.assert_allclose(var, [0.00025224, 0.00074924], rtol=2e-5)


def test_the_gradient_stays_as_it_was():
    grad = mx.nd.array([0.1, 3.0])
    for optimizer in (mx.optimizer.SGD(momentum=0.9, rescale_grad=2.0), mx.optimizer.Adam()):
        weight = mx.nd.ones((2,))
        optimizer.update(0, weight, grad, optimizer.create_state(0, weight))
    np.testing.assert_array_equal(grad.asnumpy(), np.array([0.1, 3.0], np.float32))


def test_a_weight_that_is_a_view():
    whole = mx.nd.ones((3, 2))
    mx.optimizer.SGD(learning_rate=1.0).update(0, whole[1], mx.nd.ones((2,)) * 3, None)
    assert whole.asnumpy().tolist() == [[1, 1], [-2, -2], [1, 1]]
