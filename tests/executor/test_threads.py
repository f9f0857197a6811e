"""Executors over the same parameters, run by several threads at once."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, Lock

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError
from ferromix.executor.structures import forget

THREADS = 4


@pytest.fixture(autouse=True)
def threads_change_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


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


def trained(executor):
    """What a training pass gives."""
    executor.forward(is_train=True)
    executor.backward()
    arrays = [*executor.outputs, *executor.grad_arrays, *executor.aux_arrays]
    return [a.asnumpy() for a in arrays if a is not None]


def equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def with_states(i, shared_exec=None, names=None):
    """An executor of `i` rows and more, with new states, over arrays of its own or shared ones."""
    x = S.Convolution(S.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = S.Activation(S.BatchNorm(x, fix_gamma=False, name="bn"), act_type="relu")
    net = S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")
    executor = net.simple_bind(
        mx.cpu(), data=(2 + i, 2, 4, 4), shared_exec=shared_exec, shared_arg_names=names
    )
    rng = np.random.default_rng(i)
    for name, array in executor.arg_dict.items():
        if name not in (names or ()):
            array[:] = rng.integers(0, 3, array.shape)
    return executor


def test_binds_at_once_while_others_run():
    alone = [trained(with_states(i)) for i in range(THREADS)]
    for _ in range(3):
        forget()
        for i, found in enumerate(together(lambda i: [trained(with_states(i)) for _ in range(4)])):
            for result in found:
                equal(result, alone[i])


def test_one_executor_of_several_threads_in_turn():
    executor, lock = with_states(2), Lock()
    inputs = np.random.default_rng(0).standard_normal((THREADS, 4, 2, 4, 4))

    def work(i):
        found = []
        for _ in range(5):
            with lock:
                executor.arg_dict["data"][:] = inputs[i]
                for state in executor.aux_arrays:
                    state[:] = 1
                with ThreadPoolExecutor(1) as other:
                    other.submit(executor.forward, is_train=True).result()
                executor.backward()
                arrays = [*executor.outputs, *executor.grad_arrays, *executor.aux_arrays]
                found.append([a.asnumpy() for a in arrays])
        return found

    alone = [work(i)[-1] for i in range(THREADS)]
    for i, found in enumerate(together(work)):
        for result in found:
            equal(result, alone[i])


def test_one_executor_of_several_threads_at_once_gives_the_gradient_of_one_pass():
    x = S.Variable("x")
    executor = S.make_loss(S.square(S.square(x))).simple_bind(mx.cpu(), x=(5000,))

    def work(i):
        found, data = set(), mx.nd.full((5000,), i + 1)
        for _ in range(50):
            executor.forward(is_train=True, x=data)
            executor.backward()
            # A read of the host's is not in the order of the engine, unlike a copy.
            found.add(tuple(np.unique(executor.grad_arrays[0].copy().asnumpy())))
        return found

    assert set().union(*together(work)) <= {(4.0 * (i + 1) ** 3,) for i in range(THREADS)}


def test_training_in_one_memory_is_right_or_refused():
    x = S.Variable("x")
    for _ in range(4):
        x = S.tanh(x * 1.25)
    first, head = x.simple_bind(mx.cpu(), x=(9000,)), mx.nd.ones((9000,))
    executors = [first, *(x.simple_bind(mx.cpu(), x=(9000,), shared_exec=first) for _ in "abc")]

    def gradient(i):
        executors[i].forward(is_train=True, x=mx.nd.full((9000,), 0.25 * i))
        executors[i].backward(head)
        return executors[i].grad_arrays[0].asnumpy()

    alone = [gradient(i) for i in range(THREADS)]

    def work(i):
        found = []
        for _ in range(50):
            with suppress(InvalidArgumentError):
                found.append(gradient(i))
        return found

    for i, found in enumerate(together(work)):
        for result in found:
            np.testing.assert_array_equal(result, alone[i])


def test_parameters_of_one_executor_are_trained_by_turns_of_others():
    first, lock = with_states(2), Lock()
    names = [n for n in first.arg_dict if n not in ("data", "softmax_label")]

    def work(i):
        executor, found = with_states(i, first, names), []
        for _ in range(5):
            with lock:
                for state in executor.aux_arrays:
                    state[:] = 1
                found.append(trained(executor))
        return found

    alone = [work(i)[0] for i in range(THREADS)]
    for i, found in enumerate(together(work)):
        for result in found:
            equal(result, alone[i])
