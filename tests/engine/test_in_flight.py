"""What is in flight stays bounded, an idle engine takes no processor time, naive pushes wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import ferromix as mx

engine = mx.engine
pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def run(program, **settings):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


RSS = """
import ferromix as mx
def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_million_unwaited_pushes_take_no_memory():
    program = """
a, most = mx.nd.ones((16,)), 0
for i in range(100_000):
    a += 1
before = rss()
for i in range(900_000):
    a += 1
    if i % 1000 == 0:
        most = max(most, mx.engine.counters()["in_flight"])
grown = rss() - before
print(most < 20_000 or most, grown < 50 or grown, float(a[0].asscalar()))
"""
    assert run(RSS + program) == ["True", "True", "1000001.0"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_temporaries_in_flight_are_bounded_by_their_bytes():
    program = """
a = mx.nd.ones((1024, 1024))
most = 0
for i in range(300):
    b = mx.nd.dot(a, a)
    most = max(most, rss())
b.wait_to_read()
print(most < 300 or most)
"""
    assert run(RSS + program, FERROMIX_MAX_BYTES_IN_FLIGHT="64000000") == ["True"]


def test_pushing_behind_an_operation_that_does_not_end_goes_on():
    program = """
import ferromix as mx
engine, kept = mx.engine, []
a = mx.nd.zeros((2,))
engine.push_async(kept.append, mutable_vars=[a])
for i in range(100_000):
    a += 1
for i in range(10_000):
    engine.push(lambda: None, const_vars=[a])
while not kept:
    pass
kept.pop()()
print(a.asnumpy().tolist()[0])
"""
    assert run(program) == ["100000.0"]


def test_functions_and_threads_may_push_over_the_bound():
    a, done = mx.nd.zeros((1,)), []

    def many():
        b = mx.nd.zeros((1,))
        for _ in range(5000):
            b += 1
        done.append(float(b.asscalar()))

    for _ in range(4):
        engine.push(many)
    threads = [threading.Thread(target=many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5000):
        a += 1
    for thread in threads:
        thread.join()
    engine.wait_for_all()
    assert done == [5000.0] * 7
    assert a.asscalar() == 5000


def test_an_idle_engine_takes_no_processor_time():
    program = """
import resource, time
import ferromix as mx
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
a = mx.nd.ones((256, 256))
for i in range(200):
    a = mx.nd.dot(a, a) * 0.001
    mx.engine.push(lambda: None, const_vars=[a])
a.wait_to_read()
mx.engine.wait_for_all()
time.sleep(0.2)
before = used()
time.sleep(10)
spent = used() - before
print(spent < 0.02 or spent)
"""
    assert run(program) == ["True"]


def test_pushes_of_a_naive_scope_are_done_when_they_return():
    ran, a = [], mx.nd.zeros((2,))
    with engine.naive():
        engine.push(lambda: ran.append(1), mutable_vars=[a])
        assert ran == [1]
        a += 1
        assert engine.counters()["in_flight"] == 0
        with engine.naive():
            a += 1
        assert engine.counters()["in_flight"] == 0
    np.testing.assert_array_equal(a.asnumpy(), [2, 2])


def test_a_naive_scope_raises_where_the_operation_is_pushed():
    a = mx.nd.zeros((2,))

    def fail():
        raise LookupError("here")

    with engine.naive(), pytest.raises(LookupError, match="here"):
        engine.push(fail, mutable_vars=[a])
    a += 1
    np.testing.assert_array_equal(a.asnumpy(), [1, 1])


def test_a_naive_scope_is_its_threads_own():
    gate, var, waited = threading.Event(), engine.new_variable(), []

    def other():
        engine.push(gate.wait, mutable_vars=[var])
        waited.append(1)

    with engine.naive():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(60 if engine.num_workers() else 0.1)
        gate.set()
    thread.join()
    assert waited == [1]
    engine.wait_for_var(var)


def test_functions_pushed_in_a_naive_scope_may_push():
    a, b = mx.nd.zeros((2,)), mx.nd.zeros((2,))

    def work():
        with engine.naive():
            b[:] = a + 2

    with engine.naive():
        engine.push(work, const_vars=[a], mutable_vars=[b])
    np.testing.assert_array_equal(b.asnumpy(), [2, 2])


def test_a_function_may_end_the_process():
    program = """
import os
import ferromix as mx
a = mx.nd.ones((2,))
for _ in range(1000):
    a += 1
mx.engine.push(lambda: os._exit(0), const_vars=[a])
mx.engine.wait_for_all()
print("not reached")
"""
    assert run(program) == []
