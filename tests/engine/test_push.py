"""Python functions as operations: order, errors, waits from inside, threads."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DeviceError, InvalidArgumentError, MXNetError

engine = mx.engine
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def all_is_done():
    yield
    engine.wait_for_all()
    assert engine.counters()["in_flight"] == 0


def fail_with(error):
    def fail():
        raise error

    return fail


def test_functions_on_one_variable_run_in_push_order():
    var, order = engine.new_variable(), []
    for i in range(1000):
        engine.push(lambda i=i: order.append(i), mutable_vars=[var])
    engine.wait_for_var(var)
    assert order == list(range(1000))
    assert var.version == 1000


def test_functions_and_kernels_mix_as_their_arrays_say():
    a, b = mx.nd.ones((4,)), mx.nd.zeros((4,))
    expected_a, expected_b = np.ones(4), np.zeros(4)

    def add():
        b[:] = b + a

    for i in range(50):
        a[:] = a + i
        expected_a += i
        engine.push(add, const_vars=[a], mutable_vars=[b])
        expected_b += expected_a
        b[:] = b * 0.5
        expected_b *= 0.5
    np.testing.assert_allclose(b.asnumpy(), expected_b, rtol=1e-6)
    np.testing.assert_array_equal(a.asnumpy(), expected_a)


def test_random_programs_give_what_one_thread_gives():
    rng = random.Random(5)
    variables = [engine.new_variable() for _ in range(6)]
    cells, expected = [0] * 6, [0] * 6

    def step(k, reads, writes, target):
        total = sum(target[i] for i in reads)
        for i in writes:
            target[i] = (target[i] * 31 + total + k) % 1_000_003

    for k in range(2000):
        chosen = rng.sample(range(6), rng.randint(1, 4))
        cut = rng.randint(0, len(chosen) - 1)
        reads, writes = chosen[:cut], chosen[cut:]
        engine.push(
            lambda k=k, r=reads, w=writes: step(k, r, w, cells),
            const_vars=[variables[i] for i in reads],
            mutable_vars=[variables[i] for i in writes],
            priority=rng.randint(-3, 3),
        )
        step(k, reads, writes, expected)
    engine.wait_for_all()
    assert cells == expected


def test_a_function_reads_what_was_there_although_a_later_write_is_pushed():
    a, seen, go = mx.nd.ones((3,)), [], threading.Event()

    def look():
        go.wait()
        seen.append(a.asnumpy())
        seen.append((a * 2).asnumpy())
        a.wait_to_read()
        seen.append(float(a[1].asscalar()))

    engine.push(look, const_vars=[a])
    a += 5
    go.set()
    np.testing.assert_array_equal(a.asnumpy(), [6, 6, 6])
    np.testing.assert_array_equal(seen[0], [1, 1, 1])
    np.testing.assert_array_equal(seen[1], [2, 2, 2])
    assert seen[2] == 1


def test_writes_inside_are_there_for_what_was_pushed_after_the_function():
    a, go = mx.nd.zeros((2, 3)), threading.Event()

    def fill():
        go.wait()
        a[:] = np.arange(6).reshape(2, 3)
        mx.nd.tanh(a, out=a)
        a[1] = a[0] + 1

    engine.push(fill, mutable_vars=[a])
    doubled = a * 2
    go.set()
    first = np.tanh(np.arange(3, dtype=np.float32))
    np.testing.assert_allclose(doubled.asnumpy(), 2 * np.stack([first, first + 1]), rtol=1e-6)


def test_a_constant_cannot_be_written_inside():
    a = mx.nd.ones((2,))

    def write():
        a[:] = 3

    engine.push(write, const_vars=[a])
    with pytest.raises(InvalidArgumentError, match="constant"):
        engine.wait_for_all()
    np.testing.assert_array_equal(a.asnumpy(), [1, 1])


def test_the_same_exception_surfaces_once_with_traceback_and_pusher():
    var, error = engine.new_variable(), KeyError("lost")
    line = inspect.currentframe().f_lineno + 1
    engine.push(fail_with(error), mutable_vars=[var], name="finder")
    with pytest.raises(KeyError) as e:
        engine.wait_for_var(var)
    assert e.value is error
    assert "fail" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert error.__notes__ == [f"in operation 'finder', pushed at {__file__}:{line}"]
    engine.wait_for_var(var)


def test_an_error_skips_what_depends_on_it_and_nothing_else():
    a, b, ran = mx.nd.ones((2,)), mx.nd.ones((2,)), []
    free = engine.new_variable()
    engine.push(fail_with(ZeroDivisionError("a")), mutable_vars=[a])
    engine.push(lambda: ran.append("dependent"), const_vars=[a], mutable_vars=[b])
    engine.push(lambda: ran.append("free"), mutable_vars=[free])
    with pytest.raises(ZeroDivisionError):
        b.asnumpy()
    engine.wait_for_all()
    assert ran == ["free"]
    np.testing.assert_array_equal(b.asnumpy(), [1, 1])


def test_a_kernels_error_inside_a_function_is_raised_there():
    a, caught = mx.nd.ones((2, 2)), []

    def call():
        try:
            a[:] = mx.nd.zeros((3, 3))
        except InvalidArgumentError as e:
            caught.append(e)
        a[:] = 4

    engine.push(call, mutable_vars=[a])
    np.testing.assert_array_equal(a.asnumpy(), np.full((2, 2), 4))
    assert len(caught) == 1


def test_failures_of_what_a_function_uses_reach_it():
    broken, out = mx.nd.ones((2,)), mx.nd.zeros((2,))

    def use():
        out[:] = broken * 2

    engine.push(fail_with(OSError("disk")), mutable_vars=[broken])
    engine.push(use, mutable_vars=[out])
    with pytest.raises(MXNetError, match="disk"):
        out.asnumpy()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_exits_surface_like_other_exceptions(error):
    var = engine.new_variable()
    engine.push(fail_with(error), mutable_vars=[var])
    with pytest.raises(type(error)) as e:
        engine.wait_for_var(var)
    assert e.value is error


def test_many_failures_are_each_raised_once():
    variables = [engine.new_variable() for _ in range(300)]
    errors = [ValueError(i) for i in range(300)]
    for var, error in zip(variables, errors):
        engine.push(fail_with(error), mutable_vars=[var])
    for var, error in zip(variables, errors):
        with pytest.raises(ValueError) as e:
            engine.wait_for_var(var)
        assert e.value is error
    engine.wait_for_all()


def test_functions_may_push_and_wait_for_what_they_pushed():
    var, depth = engine.new_variable(), []

    def nest(level):
        if level == 40:
            return
        inner = engine.new_variable()
        engine.push(lambda: nest(level + 1), mutable_vars=[inner])
        engine.wait_for_var(inner)
        depth.append(level)

    engine.push(lambda: nest(0), mutable_vars=[var])
    engine.wait_for_var(var)
    assert depth == list(range(39, -1, -1))


def test_waiting_for_all_inside_is_refused():
    var = engine.new_variable()
    for wait in (engine.wait_for_all, mx.nd.waitall):
        engine.push(wait, mutable_vars=[var])
        with pytest.raises(MXNetError, match="wait for single arrays"):
            engine.wait_for_var(var)


def test_waiting_for_ones_own_variable_inside_returns_at_once():
    var, ran = engine.new_variable(), []

    def wait():
        engine.wait_for_var(var)
        ran.append(1)

    engine.push(wait, mutable_vars=[var])
    engine.wait_for_var(var)
    assert ran == [1]


def test_functions_may_start_threads_that_push_and_wait():
    var, out = engine.new_variable(), mx.nd.zeros((1,))

    def work():
        total = mx.nd.zeros((1,))
        for _ in range(10):
            total += 1
        results.append(float(total.asscalar()))

    results = []

    def spawn():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        out[:] = sum(results)

    engine.push(spawn, mutable_vars=[var, out])
    assert out.asscalar() == 40


def test_blocked_functions_keep_no_kernel_waiting():
    go, var = threading.Event(), [engine.new_variable() for _ in range(64)]
    for v in var:
        engine.push(go.wait, mutable_vars=[v])
    a = mx.nd.ones((3,))
    for _ in range(100):
        a += 1
    np.testing.assert_array_equal(a.asnumpy(), [101, 101, 101])
    go.set()
    engine.wait_for_all()


def test_a_wait_lets_other_threads_run():
    go, ticks = threading.Event(), []

    def tick():
        while not go.is_set():
            ticks.append(1)
            time.sleep(0.001)
            if len(ticks) == 20:
                go.set()

    var = engine.new_variable()
    thread = threading.Thread(target=tick)
    engine.push(go.wait, mutable_vars=[var])
    thread.start()
    engine.wait_for_var(var)
    thread.join()
    assert len(ticks) >= 20


def test_priority_and_then_age_decide_among_functions_that_are_ready():
    program = """
import threading, time
import ferromix as mx
started, gate, order = threading.Event(), threading.Event(), []
mx.engine.push(lambda: (started.set(), gate.wait()))
started.wait()
for i in range(20):
    mx.engine.push(lambda i=i: order.append(i), priority=i % 5 - 2)
time.sleep(0.3)  # until the engine has handed them all over
gate.set()
mx.engine.wait_for_all()
print(order)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "FERROMIX_CUSTOM_OP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == str(sorted(range(20), key=lambda i: (-(i % 5), i)))


def test_several_pushers_with_crossed_variables():
    a, b, hits = engine.new_variable(), engine.new_variable(), [0]

    def hit():
        hits[0] += 1

    def pusher(first, second):
        for _ in range(500):
            engine.push(hit, mutable_vars=[first, second])

    threads = [threading.Thread(target=pusher, args=p) for p in ((a, b), (b, a)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.wait_for_all()
    assert hits == [2000]
    assert a.version == b.version == 2000


def test_what_a_function_refers_to_is_let_go():
    class Thing:
        pass

    gone, var = [], engine.new_variable()
    thing = Thing()
    weakref.finalize(thing, gone.append, 1)
    engine.push(lambda thing=thing: None, mutable_vars=[var])
    del thing
    engine.wait_for_var(var)
    assert gone == [1]


def test_variables_end():
    var, ran = engine.new_variable(), []
    engine.push(lambda: ran.append(1), mutable_vars=[var])
    engine.delete_variable(var)
    for use in (
        lambda: engine.push(print, mutable_vars=[var]),
        lambda: engine.wait_for_var(var),
        lambda: engine.delete_variable(var),
        lambda: var.version,
    ):
        with pytest.raises(InvalidArgumentError, match="deleted"):
            use()
    engine.wait_for_all()
    assert ran == [1]


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidArgumentError, match="const_vars must be a list"):
        engine.push(print, const_vars=mx.nd.ones((1,)))
    with pytest.raises(InvalidArgumentError, match="fn must be callable, got int"):
        engine.push(3)
    for push in (engine.push, engine.push_async):
        with pytest.raises(TypeError, match=r"mutable_vars\[1\] must be an NDArray .*, got 3"):
            push(print, mutable_vars=[engine.new_variable(), 3])
        for wrong in (None, 3, "ab"):
            with pytest.raises(TypeError, match=r"const_vars must be a list of arrays .* got"):
                push(print, const_vars=wrong)
        with pytest.raises(TypeError, match=r"ctx must be a Context.* variables come after it"):
            push(print, [engine.new_variable()])
        with pytest.raises(DeviceError, match=r"gpu\(9\).*cpu\(\)"):
            push(print, mx.gpu(9))
        for wrong in ("Fast", 7, None):
            with pytest.raises(TypeError, match=r"prop must be a FnProperty .* got .*CPUPrior"):
                push(print, prop=wrong)
        with pytest.raises(TypeError, match=r"priority must be an int.* got '1'"):
            push(print, priority="1")
        with pytest.raises(InvalidArgumentError, match=r"priority must be an int of .* got 11805"):
            push(print, priority=2**70)
        with pytest.raises(TypeError, match="name must be a string, got 3"):
            push(print, name=3)


@pytest.mark.parametrize("wrong", [None, 3, "x", [], Ellipsis], ids=repr)
def test_what_is_no_variable_is_named(wrong):
    for act in (engine.delete_variable, engine.wait_for_var):
        with pytest.raises(TypeError, match=f"{act.__name__}: var must be .*got"):
            act(wrong)


def test_an_array_is_no_variable_to_delete():
    a = mx.nd.ones((2,))
    with pytest.raises(TypeError, match="must be a Var, got NDArray; drop the last reference"):
        engine.delete_variable(a)
    engine.wait_for_var(a)
    assert a.asnumpy().tolist() == [1, 1]


def test_each_error_names_the_line_that_pushed_its_function_also_the_second_time():
    def fail():
        raise ZeroDivisionError

    def push(which):
        if which:
            engine.push(fail)
        else:
            engine.push(fail)
        return inspect.currentframe().f_lineno

    for which in (True, False, False, True):
        end = push(which)
        with pytest.raises(ZeroDivisionError) as caught:
            engine.wait_for_all()
        line = end - 3 if which else end - 1
        assert any(note.endswith(f"test_push.py:{line}") for note in caught.value.__notes__)


def test_code_that_is_made_again_and_again_keeps_its_own_lines():
    for k in range(50):
        blank = "\n" * k
        code = compile(f"{blank}engine.push(fail)", f"made_{k}.py", "exec")
        exec(code, {"engine": engine, "fail": lambda: 1 / 0})
        with pytest.raises(ZeroDivisionError) as caught:
            engine.wait_for_all()
        assert any(f"made_{k}.py:{k + 1}" in note for note in caught.value.__notes__)


class NeedsName:
    def __call__(self, *, name): ...


@pytest.mark.parametrize("fn", [lambda *, name: 0, lambda x=1, *, name, y=2: 0, NeedsName()])
def test_a_function_that_needs_keywords_is_refused(fn):
    for push in (mx.engine.push, mx.engine.push_async, mx.engine.new_operator):
        with pytest.raises(InvalidArgumentError, match=r"needs name; give them defaults"):
            push(fn)


def test_an_asynchronous_function_must_take_its_callback():
    with pytest.raises(InvalidArgumentError, match="takes no arguments"):
        mx.engine.push_async(lambda: 0)


@pytest.mark.parametrize("ctx", [mx.gpu(9), "gpu(9)"])
def test_a_function_for_a_device_that_is_not_there(ctx):
    with pytest.raises(DeviceError, match=r"gpu\(9\).*cpu\(\)"):
        mx.engine.push(print, ctx)


def test_a_second_callback_raises_and_changes_nothing():
    calls, var = [], mx.engine.new_variable()
    mx.engine.push_async(calls.append, mutable_vars=[var])
    while not calls:
        time.sleep(0.001)
    calls[0]()
    with pytest.raises(mx.MXNetError, match="called before; call it exactly once"):
        calls[0](ValueError("late"))
    mx.engine.wait_for_var(var)
    assert var.version == 1


def test_a_variable_whose_function_the_stopped_engine_refuses_stays():
    var = mx.engine.new_variable()
    mx.engine.stop()
    try:
        with pytest.raises(mx.MXNetError, match="the engine is stopped"):
            mx.engine.delete_variable(var, print)
    finally:
        mx.engine.start()
    mx.engine.push(lambda: None, mutable_vars=[var])
    mx.engine.wait_for_var(var)
    assert var.version == 1
