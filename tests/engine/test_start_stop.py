"""The engine stopped, started and told of the end: pushes are refused, and nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import ferromix as mx
from ferromix.error import MXNetError

engine = mx.engine
pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _started():
    yield
    engine.start()


def test_stop_finishes_what_was_pushed():
    a, ran = mx.nd.zeros((2,)), []
    for _ in range(50):
        a += 1
        engine.push(lambda: ran.append(1), const_vars=[a])
    engine.stop()
    assert len(ran) == 50
    assert engine.counters()["in_flight"] == 0
    assert a.asnumpy().tolist() == [50, 50]
    engine.start()
    assert (a + 1).asnumpy().tolist() == [51, 51]


def test_pushes_to_a_stopped_engine_are_refused_and_waits_end():
    a, var = mx.nd.ones((2,)), engine.new_variable()
    operator = engine.new_operator(print, mutable_vars=[var])
    x = mx.sym.Variable("x")
    bound = (x * 2).bind(mx.cpu(), {"x": a})
    mx.operator.register("stopped")(mx.operator.CustomOpProp)
    engine.stop()
    engine.stop()
    for push in (
        lambda: engine.push(print, mutable_vars=[var]),
        lambda: engine.push_async(print, mutable_vars=[var]),
        lambda: engine.push(operator),
        lambda: engine.delete_variable(var, print),
        lambda: a + 1,
        lambda: mx.nd.zeros((3,)),
        lambda: a.copyto(mx.cpu(1)),
        lambda: a.__setitem__(slice(None), 3),
        lambda: bound.forward(),
        lambda: mx.nd.Custom(a, op_type="stopped"),
    ):
        with pytest.raises(MXNetError, match=r"stopped .* call mx\.engine\.start\(\)"):
            push()
    a.wait_to_read()
    for wait in (engine.wait_for_var, engine.wait_to_write):
        wait(a)
        wait(var)
    mx.nd.waitall()
    view = a[:1]
    assert (view.asnumpy().tolist(), var.version) == ([1.0], 0)
    del view
    engine.start()
    engine.start()
    engine.push(lambda: None, mutable_vars=[var])
    engine.wait_for_var(var)
    assert var.version == 1
    bound.forward()
    assert bound.outputs[0].asnumpy().tolist() == [2, 2]


def test_functions_that_stop_waits_for_may_push():
    order, var = [], engine.new_variable()

    def outer():
        b = mx.nd.ones((2,)) * 2
        engine.push(lambda: order.append("inner"), mutable_vars=[var])
        order.append(b.asnumpy().tolist())

    for _ in range(20):
        order.clear()
        engine.push(outer)
        engine.stop()
        assert engine.counters()["in_flight"] == 0
        engine.start()
        engine.wait_for_var(var)
        assert sorted(order, key=str) == [[2, 2], "inner"]


def test_a_function_cannot_stop_the_engine():
    def stops():
        engine.stop()

    engine.push(stops)
    with pytest.raises(MXNetError, match="would wait for itself"):
        engine.wait_for_all()


def test_failures_stay_for_the_wait_after_a_stop():
    a = mx.nd.ones((2,))

    def fail():
        raise OSError("disk")

    engine.push(fail, mutable_vars=[a])
    engine.stop()
    with pytest.raises(OSError, match="disk"):
        a.asnumpy()
    engine.start()
    a[:] = 2
    assert a.asnumpy().tolist() == [2, 2]


def test_threads_that_push_stop_and_start_at_once():
    done, counts, refused = threading.Event(), [0] * 3, [0] * 3
    problems = []

    def push(place):
        total = mx.nd.zeros((1,))
        try:
            while not done.is_set():
                try:
                    total += 1
                    counts[place] += 1
                    engine.push(lambda: None, const_vars=[total])
                except MXNetError as error:
                    if "stopped" not in str(error):
                        raise
                    refused[place] += 1
                total.wait_to_read()
            assert total.asscalar() == counts[place]
        except BaseException as error:
            problems.append(error)

    def switch():
        try:
            for _ in range(60):
                engine.stop()
                engine.start()
        except BaseException as error:
            problems.append(error)

    # An array of each pusher exists before anything can refuse it.
    pushers = [threading.Thread(target=push, args=(place,), daemon=True) for place in range(3)]
    for thread in pushers:
        thread.start()
    while not all(counts):
        done.wait(0.001)
    switchers = [threading.Thread(target=switch, daemon=True) for _ in range(2)]
    for thread in switchers:
        thread.start()
    for thread in switchers:
        thread.join()
    engine.start()
    done.set()
    for thread in pushers:
        thread.join()
    assert not problems
    assert all(counts)


def in_child(work):
    """The code that a child of a fork ends with after `work`, within a minute."""
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
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def test_a_stopped_engine_is_stopped_in_both_processes_after_a_fork():
    a = mx.nd.ones((2,))
    engine.stop()

    def use():
        with pytest.raises(MXNetError, match="stopped"):
            a + 1
        assert a.asnumpy().tolist() == [1, 1]
        engine.start()
        assert (a + 1).asnumpy().tolist() == [2, 2]
        engine.push(lambda: None, mutable_vars=[a])
        engine.stop()
        engine.start()
        engine.wait_for_all()

    assert in_child(use) == 0
    use()
    assert in_child(lambda: (a * 3).wait_to_read()) == 0


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_a_process_may_end_while_the_engine_is_stopped(kind):
    program = """
        import ferromix as mx
        a = mx.nd.ones((3,)) + 1
        mx.engine.stop()
        print(a.asnumpy().tolist(), mx.engine.engine_type())
    """
    assert run(program, MXNET_ENGINE_TYPE=kind) == f"[2.0, 2.0, 2.0] {kind}\n"


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_after_the_notice_of_the_end_pushes_are_refused(kind):
    program = """
        import time
        import ferromix as mx
        a, ran = mx.nd.ones((3,)), []
        mx.engine.push(lambda: (time.sleep(0.05), ran.append(1)), const_vars=[a])
        mx.engine.notify_shutdown()
        for push in (lambda: mx.engine.push(print), lambda: a + 1):
            try:
                push()
            except mx.MXNetError as error:
                print(error)
        mx.engine.wait_for_all()
        print(ran, a.asnumpy().tolist())
        mx.engine.stop()
        mx.engine.start()
    """
    said = run(program, MXNET_ENGINE_TYPE=kind).splitlines()
    assert "shutting down" in said[0]
    assert "shutting down" in said[1]
    assert said[2:] == ["[1] [1.0, 1.0, 1.0]"]


def test_the_main_threads_stop_can_be_interrupted():
    program = """
        import signal, threading
        import ferromix as mx
        kept, a = [], mx.nd.ones((2,))
        mx.engine.push_async(kept.append, mutable_vars=[a])
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            mx.engine.stop()
        except KeyboardInterrupt:
            print("interrupted")
        b = mx.nd.ones((2,)) + 1
        print(b.asnumpy().tolist())
        kept.pop()()
        mx.engine.stop()
        print(a.asnumpy().tolist())
    """
    assert run(program, MXNET_ENGINE_TYPE="") == "interrupted\n[2.0, 2.0]\n[1.0, 1.0]\n"


def test_functions_that_push_after_the_notice_of_the_end_are_told():
    """What was pushed before still runs; what it pushes is refused by an error that says so."""
    program = """
        import threading
        import ferromix as mx
        a, b, go = mx.nd.ones((3,)), mx.nd.ones((3,)), threading.Event()
        held, said = mx.engine.new_variable(), []
        uses = {
            "function": lambda: mx.engine.push(print),
            "kernel": lambda: b + 1,
            "kernel on its own": lambda: a.__iadd__(1),
            "kernel on both": lambda: a.__iadd__(b),
            "read": lambda: said.append(a.asnumpy().tolist()),
        }
        def use():
            go.wait()
            for name, way in uses.items():
                try:
                    way()
                except Exception as error:
                    said.append((name, type(error).__name__, "shutting down" in str(error)))
        mx.engine.push(use, mutable_vars=[a])
        mx.engine.notify_shutdown()
        go.set()
        mx.engine.wait_for_all()
        for line in said:
            print(line)
    """
    assert run(program, MXNET_ENGINE_TYPE="ThreadedEnginePerDevice").splitlines() == [
        "('function', 'MXNetError', True)",
        "('kernel', 'MXNetError', True)",
        "('kernel on both', 'MXNetError', True)",
        "[2.0, 2.0, 2.0]",
    ]
