"""Executors over the same parameters, run by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S

THREADS = 4


def network():
    net = S.FullyConnected(S.Variable("data"), num_hidden=8, name="fc1")
    net = S.Activation(net, act_type="tanh")
    return S.SoftmaxOutput(S.FullyConnected(net, num_hidden=3, name="fc2"), name="softmax")


def parameters(net):
    rng = np.random.default_rng(0)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(6, 5))[0], strict=True))
    shared = [n for n in shapes if n.startswith("fc")]
    return {n: mx.nd.array(rng.standard_normal(shapes[n])) for n in shared}


def bound(net, shared, seed, grad_req="write"):
    """An executor over shared parameters with data and gradients of its own."""
    rng = np.random.default_rng(seed)
    own = {
        "data": mx.nd.array(rng.standard_normal((6, 5))),
        "softmax_label": mx.nd.array(rng.integers(0, 3, 6)),
    }
    grads = {n: mx.nd.zeros(a.shape) for n, a in shared.items()}
    return net.bind(mx.cpu(), {**shared, **own}, grads, grad_req)


def together(work):
    """Runs ``work(i)`` in threads that begin at the same time."""
    barrier = Barrier(THREADS)

    def begin(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.parametrize("monitored", [False, True])
def test_each_computes_what_it_computes_alone(monitored):
    net = network()
    shared = parameters(net)

    def gradients(i):
        executor = bound(net, shared, i, "add")
        if monitored:
            executor.set_monitor_callback(lambda name, array: array.wait_to_read())
        for _ in range(20):
            executor.forward(is_train=True)
            executor.backward()
        return [g.asnumpy() for g in executor.grad_arrays if g is not None]

    alone = [gradients(i) for i in range(THREADS)]
    for found, expected in zip(together(gradients), alone, strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_gradients_of_all_threads_add_up_in_one_array():
    net = S.make_loss(S.sum(S.Variable("x") * S.Variable("w")))
    weight, total = mx.nd.ones((7,)), mx.nd.zeros((7,))

    def add(i):
        args = {"x": mx.nd.full((7,), i + 1), "w": weight}
        executor = net.bind(mx.cpu(), args, {"w": total}, "add")
        for _ in range(50):
            executor.forward(is_train=True)
            executor.backward()

    together(add)
    assert total.asnumpy().tolist() == [50 * sum(range(1, THREADS + 1))] * 7


def test_a_pass_sees_a_parameter_before_or_after_an_update_but_never_between():
    net = S.broadcast_add(S.Variable("x"), S.Variable("w"))
    weight = mx.nd.zeros((3000,))

    def work(i):
        if i == 0:
            for k in range(1, 101):
                weight[:] = k
            return []
        executor = net.bind(mx.cpu(), {"x": mx.nd.zeros((1,)), "w": weight})
        return [np.unique(executor.forward()[0].asnumpy()).tolist() for _ in range(50)]

    for seen in together(work):
        assert all(len(values) == 1 for values in seen)
        assert seen == sorted(seen)


def test_predictions_of_executors_with_one_memory_may_overlap():
    net, rng = network(), np.random.default_rng(1)
    shared = parameters(net)
    first = net.bind(
        mx.cpu(), {**shared, "data": mx.nd.zeros((6, 5)), "softmax_label": mx.nd.zeros((6,))}
    )
    inputs = [mx.nd.array(rng.standard_normal((6, 5))) for _ in range(THREADS)]

    def predict(i):
        args = {**shared, "data": inputs[i], "softmax_label": mx.nd.zeros((6,))}
        executor = net.bind(mx.cpu(), args, shared_exec=first)
        return [executor.forward()[0].asnumpy() for _ in range(30)]

    for i, found in enumerate(together(predict)):
        (expected,) = first.forward(data=inputs[i])
        for result in found:
            np.testing.assert_array_equal(result, expected.asnumpy())
