"""Forks in the middle of work: parent and child both go on."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import MXNetError

engine = mx.engine
# From 3.12 on, Python warns of forks in processes with threads; here that is the point.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_child(work, limit=30.0):
    """Forks; the child runs `work` and says by its exit code whether that went well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    begin = time.monotonic()
    while time.monotonic() < begin + limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def compute(size=64):
    """Kernels, functions, scratch memory, parallel loops and errors, against NumPy."""
    rng = np.random.default_rng(size)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    x, y = mx.nd.array(a), mx.nd.array(b)
    product = mx.nd.dot(x, y)
    total = mx.nd.zeros((1,))

    def add():
        total[:] = float(product.asnumpy().sum())

    engine.push(add, const_vars=[product], mutable_vars=[total])
    np.testing.assert_allclose(product.asnumpy(), a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total.asscalar(), (a @ b).sum(), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(x[:, ::2].asnumpy(), a[:, ::2])
    big = mx.nd.ones((1000, 1000))
    assert big.sum().asscalar() == 1e6


def test_both_go_on_after_a_fork_at_rest():
    compute()
    assert in_child(compute) == 0
    compute()


def test_a_fork_before_anything_is_used():
    program = """
import os
import ferromix as mx
child = os.fork()
a = mx.nd.ones((3,)) + 1
assert a.asnumpy().tolist() == [2, 2, 2]
mx.engine.push(lambda: None)
mx.engine.wait_for_all()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_arrays_keep_their_values_and_their_own_life_in_the_child():
    a = mx.nd.array(np.arange(6.0)).reshape(2, 3)
    view = a[1]

    def work():
        np.testing.assert_array_equal(a.asnumpy(), np.arange(6).reshape(2, 3))
        view[:] = -1
        a[0] *= 2
        np.testing.assert_array_equal(a.asnumpy(), [[0, 2, 4], [-1, -1, -1]])

    assert in_child(work) == 0
    np.testing.assert_array_equal(a.asnumpy(), np.arange(6).reshape(2, 3))


def test_forks_among_pending_kernels():
    arrays, count = [mx.nd.zeros((100, 100)) for _ in range(8)], 0
    for _ in range(20):
        for _ in range(100):
            for x in arrays:
                x += 1
            count += 1

        def work(count=count):
            for x in arrays:
                assert float(x[0, 0].asscalar()) == count
                x += 1
                assert float(x[99, 99].asscalar()) == count + 1
            compute(16)

        assert in_child(work) == 0
    for x in arrays:
        np.testing.assert_array_equal(x.asnumpy(), np.full((100, 100), count))


def test_pending_functions_run_in_the_parent_only(tmp_path):
    var, path = engine.new_variable(), tmp_path / "who"

    def note():
        time.sleep(0.002)
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")

    for _ in range(50):
        engine.push(note, mutable_vars=[var])

    def work():
        engine.wait_for_all()
        compute(16)

    assert in_child(work) == 0
    engine.wait_for_all()
    assert path.read_text().split() == [str(os.getpid())] * 50


def test_a_plan_goes_on_in_the_child():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="dense")
    executor = net.simple_bind(mx.cpu(), data=(4, 3))
    executor.arg_dict["data"][:] = np.arange(12).reshape(4, 3)
    executor.arg_dict["dense_weight"][:] = np.ones((5, 3))
    expected = np.repeat(np.arange(12).reshape(4, 3).sum(1), 5).reshape(4, 5)

    def work():
        for i in range(3):
            executor.arg_dict["dense_bias"][:] = i
            executor.forward()
            np.testing.assert_allclose(executor.outputs[0].asnumpy(), expected + i)

    work()
    assert in_child(work) == 0
    work()


def test_a_failure_of_before_the_fork_surfaces_in_each_process():
    a, b = mx.nd.ones((2,)), mx.nd.ones((2,))

    def fail():
        raise LookupError("before the fork")

    engine.push(fail, mutable_vars=[a])
    dependent = a + b

    def work():
        with pytest.raises(LookupError, match="before the fork"):
            dependent.asnumpy()
        compute(16)

    assert in_child(work) == 0
    work()


def test_forks_while_other_threads_push_and_wait():
    stop, errors = threading.Event(), []

    def loop(size):
        try:
            while not stop.is_set():
                compute(size)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=loop, args=(size,)) for size in (8, 16, 24)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(compute) for _ in range(20)] == [0] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []


def test_forks_of_several_threads_at_once():
    results = []
    threads = [threading.Thread(target=lambda: results.append(in_child(compute))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0] * 4
    compute()


def test_a_child_may_fork():
    def work():
        compute(16)
        assert in_child(compute) == 0
        compute(16)

    assert in_child(work) == 0


def test_a_fork_inside_a_function_leaves_a_parent_that_goes_on_and_a_child_that_says_no():
    codes, var, a = [], engine.new_variable(), mx.nd.ones((2,))

    def work():
        for use in (a.asnumpy, lambda: a + 1, engine.wait_for_all, a.wait_to_read):
            with pytest.raises(MXNetError, match="forked while a Python operation"):
                use()

    engine.push(lambda: codes.append(in_child(work)), mutable_vars=[var])
    engine.wait_for_var(var)
    assert codes == [0]
    compute()


@pytest.mark.skipif(engine.num_workers() == 0, reason="the naive engine's push waits")
def test_subprocesses_are_not_held_up_by_pending_work():
    go, var = threading.Event(), engine.new_variable()
    engine.push(go.wait, mutable_vars=[var])
    done = subprocess.run([sys.executable, "-c", "print(3)"], capture_output=True, timeout=30)
    assert done.stdout == b"3\n"
    go.set()
    engine.wait_for_var(var)


def scaled_sum(values):
    return float((mx.nd.array(values) * 2).sum().asscalar())


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(method):
    rows = [np.full((50,), i, dtype=np.float32) for i in range(8)]
    a = mx.nd.ones((10,))
    for _ in range(500):
        a += 1
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        result = pool.map_async(scaled_sum, rows)
        for _ in range(500):
            a += 1
        assert result.get(60) == [100.0 * i for i in range(8)]
    np.testing.assert_array_equal(a.asnumpy(), np.full((10,), 1001))


def test_arrays_travel_to_other_processes():
    context = multiprocessing.get_context("forkserver")
    with context.Pool(1) as pool:
        assert pool.apply(scaled_sum, (np.ones(3),)) == 6
        moved = pool.apply_async(np.negative, (np.ones(3),)).get(60)
    np.testing.assert_array_equal(moved, [-1, -1, -1])


def test_forks_while_other_threads_wait_for_room():
    stop, arrays = threading.Event(), [mx.nd.zeros((64, 64)) for _ in range(3)]
    counts = [0] * len(arrays)

    def loop(i):
        while not stop.is_set():
            arrays[i] += 1
            counts[i] += 1

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(len(arrays))]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(lambda: compute(16)) for _ in range(10)] == [0] * 10
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [float(a[0, 0].asscalar()) for a in arrays] == counts


def test_a_profile_goes_on_in_parent_and_child(tmp_path):
    mx.profiler.set_config(filename=str(tmp_path / "parent"))
    mx.profiler.set_state("run")

    def dots():
        mx.nd.dot(mx.nd.ones((4, 4)), mx.nd.ones((4, 4))).wait_to_read()
        times = json.loads(mx.profiler.dumps(format="json"))["Time"]
        return times["operator"]["dot"]["Count"]

    def work():
        assert dots() == 2

    try:
        assert dots() == 1
        assert in_child(work) == 0
        assert dots() == 2
    finally:
        mx.profiler.set_state("stop")
        mx.profiler.dumps(reset=True)
        mx.profiler.set_config(filename="profile.json")


def test_a_fork_waits_for_functions_that_log():
    program = """
import logging, os, sys, time
import ferromix as mx
logger = logging.getLogger("of a function")
var = mx.engine.new_variable()

def note():
    time.sleep(0.05)
    logger.setLevel(logging.INFO)  # takes the lock of logging, which forks hold
    logger.warning("noted")

for _ in range(5):
    mx.engine.push(note, mutable_vars=[var])
begin, child = time.monotonic(), os.fork()
assert time.monotonic() - begin < 5
if child == 0:
    os._exit(int(float((mx.nd.ones((2,)) + 1).sum().asscalar()) != 4))
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"noted\n" * 5)


def test_forks_while_other_threads_run_graphs_of_functions():
    class Half(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] / 2)

    @mx.operator.register("test_fork_half")
    class HalfProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Half()

    stop, wrong = threading.Event(), []
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="test_fork_half") + 1

    def loop():
        executor = symbol.simple_bind(mx.cpu(), x=(2,))
        while not stop.is_set():
            for _ in range(20):
                executor.forward(x=mx.nd.array([4, 6]))
            if executor.outputs[0].asnumpy().tolist() != [3, 4]:
                wrong.append(executor.outputs[0].asnumpy())

    threads = [threading.Thread(target=loop) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(lambda: compute(16)) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
