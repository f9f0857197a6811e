"""ResizeIter and PrefetchingIter: threads, errors, states (batches: test_golden_batches)."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError

X = np.arange(7, dtype=np.float32)


def inner(**args):
    return mx.io.NDArrayIter(X, X, **({"batch_size": 3} | args))


def labels(iterator):
    return [batch.label[0].asnumpy().astype(int).tolist() for batch in iterator]


def threads():
    return sum(t.name == "ferromix-prefetch" for t in threading.enumerate())


def settles(count):
    deadline = time.monotonic() + 10
    while threads() != count and time.monotonic() < deadline:
        time.sleep(0.01)
    return threads() == count


def test_resize_arguments():
    it = mx.io.ResizeIter(inner(), 2)
    assert (it.size, it.cur, it.batch_size, it.reset_internal) == (2, 0, 3, True)
    with pytest.raises(MXNetError, match="ResizeIter: there is no batch yet"):
        it.getdata()
    assert it.iter_next()
    assert (it.getpad(), it.getindex().tolist(), it.getlabel()[0].shape) == (0, [0, 1, 2], (3,))
    bucketed = inner()
    bucketed.default_bucket_key = 7
    assert mx.io.ResizeIter(bucketed, 2).default_bucket_key == 7
    assert labels(mx.io.ResizeIter(mx.io.NDArrayIter(X[:0], X[:0]), 2)) == []
    assert labels(mx.io.ResizeIter(inner(), -1)) == []
    with pytest.raises(ArgumentTypeError, match=r"must be an iterator over batches, .* got int"):
        mx.io.ResizeIter(5, 2)
    with pytest.raises(InvalidArgumentError, match="size must be an int"):
        mx.io.ResizeIter(inner(), "2")


@pytest.mark.parametrize(
    "wrap",
    [lambda it: mx.io.ResizeIter(it, 5, False), mx.io.PrefetchingIter],
    ids=["resize", "prefetch"],
)
def test_going_on_from_a_saved_state(wrap):
    def make():
        return wrap(inner(shuffle=True, last_batch_handle="roll_over", seed=3))

    it, states, found = make(), [], []
    for _ in range(3):
        for batch in it:
            found.append(labels([batch]))
            states.append(json.dumps(it.state_dict()))
        it.reset()
        states[-1] = json.dumps(it.state_dict())
    for number, state in enumerate(states):
        again = make()
        again.load_state_dict(json.loads(state))
        rest = []
        while len(rest) + number + 1 < len(found):
            rest += [labels([batch]) for batch in again]
            again.reset()
        assert rest == found[number + 1 :]


def test_prefetching_gives_what_its_iterator_gives():
    plain, it = inner(shuffle=True, seed=2), mx.io.PrefetchingIter(inner(shuffle=True, seed=2))
    for _ in range(3):
        it.reset()  # before the first batch this does nothing
        assert labels(it) == labels(plain)
        with pytest.raises(StopIteration):
            it.next()
        plain.reset()
        it.reset()
    it.next()
    it.reset()
    plain.next()
    plain.reset()
    assert labels(it) == labels(plain)


def test_batches_are_fetched_ahead():
    class Slow(mx.io.DataIter):
        provide_data = (mx.io.DataDesc("data", (1,)),)
        provide_label = ()
        fetched = 0

        def next(self):
            self.fetched += 1
            return mx.io.DataBatch([mx.nd.zeros((1,))])

    slow = Slow(1)
    it = mx.io.PrefetchingIter(slow)
    it.next()
    deadline = time.monotonic() + 10
    while slow.fetched < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert slow.fetched == 2
    with pytest.raises(MXNetError, match="Slow has no state_dict"):
        it.state_dict()


def test_errors_of_the_iterator_come_out():
    class Broken(mx.io.DataIter):
        provide_data = (mx.io.DataDesc("data", (1,)),)
        provide_label = ()

        def next(self):
            raise ValueError("boom")

    it = mx.io.PrefetchingIter(Broken(1))
    for _ in range(3):
        with pytest.raises(ValueError, match="boom"):
            it.next()


def test_iterators_that_differ():
    it = mx.io.PrefetchingIter([inner(), mx.io.NDArrayIter(X[:3], X[:3], 3)])
    it.next()
    with pytest.raises(MXNetError, match="iterator 1 has fewer batches than iterator 0"):
        it.next()
    it = mx.io.PrefetchingIter([inner(), mx.io.NDArrayIter(X[:6], X[:6], 4)])
    it.next()
    with pytest.raises(MXNetError, match=r"differ in padding: \[0, 2\]"):
        it.next()


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ({"iters": []}, InvalidArgumentError, "iters has no iterators"),
        ({"iters": 5}, ArgumentTypeError, "must be an iterator over batches .* got int"),
        ({"rename_data": [{"x": "y"}]}, InvalidArgumentError, "rename_data has no name for 'data'"),
        ({"rename_label": []}, InvalidArgumentError, "rename_label must be a list of 1 dicts"),
        ({"rename_data": [5]}, InvalidArgumentError, "rename_data must be a list of 1 dicts"),
    ],
    ids=["none", "int", "name", "number", "kind"],
)
def test_unfit_arguments_of_prefetching(args, error, message):
    with pytest.raises(error, match=message):
        mx.io.PrefetchingIter(**({"iters": inner()} | args))


def test_threads_end_with_their_iterator():
    gc.collect()
    assert settles(0)
    before = 0
    its = [mx.io.PrefetchingIter([inner(), inner(data_name="d")]) for _ in range(3)]
    its[0].next()
    assert threads() == before + 6
    its[1].close()
    assert settles(before + 4)
    with pytest.raises(MXNetError, match="it is closed"):
        its[1].next()
    del its
    gc.collect()
    assert settles(before)


def test_the_child_of_a_fork_has_no_threads():
    it = mx.io.PrefetchingIter(inner())
    it.next()
    pid = os.fork()
    if pid == 0:
        try:
            it.next()
        except MXNetError as error:
            os._exit(0 if "made by another process" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert labels(it) == [[3, 4, 5], [6, 0, 1]]


LEFT = """
import sys
import ferromix as mx, numpy as np

inner = mx.io.NDArrayIter(np.ones((64, 100_000), np.float32), batch_size=16, shuffle=True)
it = mx.io.PrefetchingIter(inner)
it.next()
"""


@pytest.mark.slow
def test_a_process_ends_while_a_batch_is_fetched():
    for _ in range(10):
        done = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


INTERRUPTED = """
import os, signal, sys, threading, time
import ferromix as mx, numpy as np

class Stuck(mx.io.NDArrayIter):
    def next(self):
        time.sleep({pause})
        return super().next()

it = mx.io.PrefetchingIter(Stuck(np.arange(1000), batch_size=2))
print("ready", flush=True)
try:
    while True:
        try:
            it.next()
        except StopIteration:
            it.reset()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("pause", ["0", "3600"])
def test_ctrl_c_ends_the_process(pause):
    """Also while a batch is waited for that never comes."""
    code = INTERRUPTED.replace("{pause}", pause)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.communicate(timeout=60)[0] == "interrupted\n"
        assert (child.returncode, time.monotonic() - began < 20) == (0, True)
