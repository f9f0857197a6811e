"""Threads, each with its own tape, and the memory that tapes take."""

import gc
import threading

import numpy as np
import pytest

import ferromix as mx

ag = mx.autograd


def in_use():
    mx.nd.waitall()
    return mx.storage.stats()["in_use"]


def variable(shape):
    x = mx.nd.ones(shape)
    x.attach_grad()
    return x


def test_threads_record_and_differentiate_apart():
    problems, barrier = [], threading.Barrier(6)

    def work(number):
        try:
            x = mx.nd.array(np.arange(50.0) * number)
            x.attach_grad("add")
            barrier.wait()
            for i in range(30):
                if i % 3 == 2:
                    assert not (x * x).handle.is_recorded
                    continue
                with ag.record():
                    y = mx.nd.square(x) * number + x[1:2].sum()
                y.backward()
            expected = 2 * np.arange(50.0) * number * number * 20
            expected[1] += 50 * 20
            np.testing.assert_array_equal(x.grad.asnumpy(), expected.astype("float32"))
        except Exception as error:  # reported by the thread that waits
            problems.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_one_thread_records_and_another_differentiates():
    x = variable((3,))
    with ag.record():
        y = x * x
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 2, 2])


def test_recording_without_a_backward_pass_keeps_memory_flat():
    x = variable((1000,))
    before = in_use()
    with ag.record():
        for _ in range(3000):
            y = x * 2 + x
    del y
    assert in_use() <= before


def test_a_chain_of_which_no_value_is_needed_keeps_none():
    x = variable((1000,))
    before = in_use()
    with ag.record():
        y = x
        for _ in range(200):
            y = y + 1
    mx.nd.waitall()
    assert in_use() - before < 10 * 4096
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 1)


@pytest.mark.parametrize("retain", [False, True])
def test_a_backward_pass_frees_what_was_kept(retain):
    x = variable((100_000,))
    before = in_use()
    with ag.record():
        y = x
        for _ in range(10):
            y = mx.nd.sin(y)
    kept = in_use() - before
    assert kept >= 10 * 400_000
    y.backward(retain_graph=retain)
    left = in_use() - before
    assert left >= kept if retain else left <= 500_000


def test_steps_of_training_keep_memory_flat():
    gc.collect()  # What other tests have left, which could be collected between the steps below.
    w = variable((50, 50))
    x = mx.nd.ones((20, 50))
    sizes = []
    for step in range(300):
        with ag.record():
            out = mx.nd.FullyConnected(mx.nd.relu(x * 2), w, num_hidden=50, no_bias=True)
            loss = (out * out)[0:10].sum()
        loss.backward()
        w -= 1e-9 * w.grad
        if step in (50, 299):
            sizes.append(in_use())
    assert sizes[0] == sizes[1]


def test_long_chains_are_freed_and_differentiated_without_recursion():
    x = variable((1,))
    with ag.record():
        y = x
        for _ in range(30_000):
            y = y + 1
    del y
    with ag.record():
        y = x
        for _ in range(6_000):
            y = y + x
    y.backward()
    assert x.grad.asscalar() == 6001


def test_arrays_die_with_their_tape():
    x = variable((1000,))
    before = in_use()
    with ag.record():
        y = mx.nd.exp(x)
        for _ in range(5):
            y = mx.nd.exp(y * 0)
    del y
    assert in_use() <= before
