"""Operators pushed again and again, functions that take a RunContext, kinds of work, deletions."""

from __future__ import annotations

import functools
import gc
import threading
import weakref

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError

engine = mx.engine


def test_an_operator_is_an_operation_for_each_push():
    a, b = mx.nd.ones((3,)), mx.nd.zeros((3,))

    def add():
        b[:] += a

    operator = engine.new_operator(add, [a], [b], "Normal", "adds")
    for k in range(10):
        engine.push(operator, mx.cpu(), k, False)
        a += 1  # between two pushes, and so between two runs
    assert b.asnumpy().tolist() == [55.0] * 3
    assert repr(operator) == "<Operator adds>"
    engine.delete_operator(operator)


def test_failures_of_an_operator_are_each_pushs_own():
    var, runs = engine.new_variable(), []

    def fail_at_times():
        runs.append(1)
        if len(runs) % 2:
            raise KeyError(len(runs))

    operator = engine.new_operator(fail_at_times, mutable_vars=[var])
    for number in (1, 3):
        engine.push(operator)
        with pytest.raises(KeyError) as caught:
            engine.wait_for_var(var)
        assert caught.value.args == (number,)
        assert "'fail_at_times'" in caught.value.__notes__[0]
        assert "test_operators.py" in caught.value.__notes__[0]
        operator.push(priority=1)
        engine.wait_for_var(var)
    assert len(runs) == 4


def test_a_deleted_operator_still_runs_what_was_pushed():
    gate, runs, var = threading.Event(), [], engine.new_variable()
    if engine.engine_type() == "NaiveEngine":
        gate.set()  # each push runs it

    class Counts:
        def __call__(self):
            gate.wait(60)
            runs.append(1)

    counts = Counts()
    gone = weakref.ref(counts)
    operator = engine.new_operator(counts, mutable_vars=[var], name="counts")
    del counts
    for _ in range(3):
        engine.push(operator)
    engine.delete_operator(operator)
    for use in (lambda: engine.push(operator), lambda: engine.delete_operator(operator)):
        with pytest.raises(InvalidArgumentError, match="'counts' was deleted"):
            use()
    gate.set()
    engine.wait_for_all()
    assert len(runs) == 3
    gc.collect()
    assert gone() is None


def test_an_operator_notes_writes_for_the_tape():
    x = mx.nd.ones((2,))
    x.attach_grad()
    operator = engine.new_operator(lambda: None, mutable_vars=[x])
    with mx.autograd.record():
        y = x * x
    engine.push(operator)
    with pytest.raises(MXNetError, match="written"):
        y.backward()


class Callable:
    def __init__(self):
        self.seen = []

    def method(self, run_ctx):
        self.seen.append(run_ctx)

    def __call__(self, run_ctx):
        self.seen.append(run_ctx)


def test_functions_that_need_an_argument_get_a_run_context():
    seen, thing, var = [], Callable(), engine.new_variable()

    def optional(first=None, *rest):
        seen.append((first, rest))

    takers = (
        seen.append,
        lambda run_ctx: seen.append(run_ctx),
        thing.method,
        thing,
        functools.partial(lambda k, run_ctx: seen.append(run_ctx), 1),
    )
    for fn in (optional, functools.partial(seen.append, (None, ())), lambda *rest: None):
        engine.push(fn, mutable_vars=[var])
    for fn in takers:
        engine.push(fn, mx.cpu(1), mutable_vars=[var], priority=-7, name="named")
    engine.wait_for_var(var)
    assert seen[:2] == [(None, ())] * 2
    contexts = seen[2:] + thing.seen
    assert len(contexts) == len(takers)
    for run_ctx in contexts:
        assert isinstance(run_ctx, engine.RunContext)
        assert (run_ctx.ctx, run_ctx.stream) == (mx.cpu(1), None)
        assert (run_ctx.priority, run_ctx.name) == (-7, "named")
        assert repr(run_ctx) == 'RunContext(cpu(1), priority=-7, name="named")'


def test_the_context_of_an_operation_is_the_current_one_by_default():
    seen, var = [], engine.new_variable()
    with mx.cpu(3):
        engine.push(lambda run_ctx: seen.append(run_ctx.ctx), mutable_vars=[var])
        engine.push(lambda run_ctx: seen.append(run_ctx.ctx), "cpu(2)", mutable_vars=[var])
    engine.wait_for_var(var)
    assert seen == [mx.cpu(3), mx.cpu(2)]


def test_asynchronous_functions_may_take_a_run_context_first():
    seen, var = [], engine.new_variable()

    def start(run_ctx, on_complete):
        seen.append(run_ctx.name)
        threading.Timer(0.01, on_complete).start()

    engine.push_async(start, None, (), {var}, engine.FnProperty.Async)
    engine.wait_for_var(var)
    assert (seen, var.version) == (["start"], 1)


def test_functions_that_need_more_are_refused():
    def two(first, second): ...

    with pytest.raises(InvalidArgumentError, match="two needs 2 arguments"):
        engine.push(two)
    with pytest.raises(InvalidArgumentError, match="needs 3 arguments"):
        engine.push_async(lambda a, b, c: None)
    with pytest.raises(InvalidArgumentError, match="fn must be callable"):
        engine.new_operator(None)
    with pytest.raises(ArgumentTypeError, match="must be an Operator, got 3"):
        engine.delete_operator(3)


@pytest.mark.parametrize("prop", list(engine.FnProperty), ids=lambda prop: prop.name)
def test_each_kind_of_work_keeps_the_order(prop):
    a = mx.nd.zeros((2,))

    def add():
        a[:] += 1

    for how in (prop, prop.name):
        engine.push(add, mx.cpu(), [], [a], how)
        a *= 2
    engine.push(engine.new_operator(add, mutable_vars={a}, prop=prop))
    assert a.asnumpy().tolist() == [7.0, 7.0]


def test_the_seven_kinds_have_mxnets_numbers():
    names = "Normal CopyFromGPU CopyToGPU CPUPrioritized Async DeleteVar GPUPrioritized"
    assert [prop.name for prop in sorted(engine.FnProperty)] == names.split()
    assert [int(prop) for prop in engine.FnProperty] == list(range(7))


@pytest.mark.parametrize("prop", ["CPUPrioritized", "GPUPrioritized", "Async", "DeleteVar"])
def test_prompt_kinds_do_not_wait_behind_ordinary_functions(prop):
    if engine.engine_type() == "NaiveEngine":
        pytest.skip("each function runs when it is pushed")
    gate, ran = threading.Event(), threading.Event()
    for _ in range(300):
        engine.push(lambda: gate.wait(60))
    engine.push(ran.set, prop=prop)
    try:
        assert ran.wait(60)
    finally:
        gate.set()
    engine.wait_for_all()


def test_sets_of_arrays_and_variables_are_variables():
    a, b, var = mx.nd.ones((2,)), mx.nd.zeros((2,)), engine.new_variable()

    def add():
        b[:] = b + a

    for sets in (({a}, {b, var}), (frozenset([a]), iter([b, var])), ((a, b), (b, b, var))):
        engine.push(add, None, *sets)
    assert b.asnumpy().tolist() == [3.0, 3.0]
    assert var.version == 3


def test_a_deletions_function_runs_after_the_last_user():
    gate, order, var = threading.Event(), [], engine.new_variable()
    naive = engine.engine_type() == "NaiveEngine"

    def use():
        if not naive:
            gate.wait(60)
        order.append("use")

    engine.push(use, const_vars=[var])
    engine.push(lambda: order.append("change"), mutable_vars=[var])
    engine.delete_variable(var, lambda run_ctx: order.append(run_ctx.ctx), mx.cpu(1))
    with pytest.raises(InvalidArgumentError, match="deleted"):
        engine.push(print, const_vars=[var])
    assert naive or order == []
    gate.set()
    engine.wait_for_all()
    assert order == ["use", "change", mx.cpu(1)]


def test_a_deletions_function_runs_also_after_a_failure_and_may_fail():
    var, order = engine.new_variable(), []

    def fail():
        raise OSError("before")

    def end():
        order.append("end")
        raise LookupError("the end")

    engine.push(fail, mutable_vars=[var])
    engine.delete_variable(var, end)
    with pytest.raises(OSError, match="before"):
        engine.wait_for_all()
    assert order == ["end"]
    other = engine.new_variable()
    engine.delete_variable(other, end)
    with pytest.raises(LookupError, match="the end"):
        engine.wait_for_all()
    with pytest.raises(InvalidArgumentError, match="deleted"):
        engine.delete_variable(other, end)
    engine.wait_for_all()
    assert order == ["end"] * 2


def test_many_deletions_from_many_threads():
    ran = []

    def work():
        for k in range(200):
            var = engine.new_variable()
            engine.push(lambda: None, mutable_vars=[var])
            engine.delete_variable(var, lambda k=k: ran.append(k))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.wait_for_all()
    assert sorted(ran) == sorted([*range(200)] * 4)


def test_waiting_to_write_waits_for_readers():
    gate, a, read = threading.Event(), mx.nd.ones((2,)), []
    naive = engine.engine_type() == "NaiveEngine"
    if naive:
        gate.set()
    var = engine.new_variable()
    for thing in (a, var):
        engine.push(lambda: (gate.wait(60), read.append(1)), const_vars=[thing])
    engine.wait_for_var(a)  # does not wait for readers
    engine.wait_for_var(var)
    assert naive or not read
    gate.set()
    engine.wait_to_write(a)
    engine.wait_to_write(var)
    assert len(read) == 2
    for wrong in (None, 3, "x"):
        with pytest.raises(ArgumentTypeError, match="wait_to_write: var must be"):
            engine.wait_to_write(wrong)


def test_waiting_to_write_raises_a_failure_once():
    a = mx.nd.ones((2,))

    def fail():
        raise OSError("disk")

    engine.push(fail, mutable_vars=[a])
    with pytest.raises(OSError, match="disk"):
        engine.wait_to_write(a)
    engine.wait_to_write(a)


def test_waiting_to_write_inside_of_a_function():
    a, b, seen = mx.nd.ones((2,)), mx.nd.ones((2,)), []

    def work():
        engine.wait_to_write(b)  # has it
        try:
            engine.wait_to_write(a)
        except MXNetError as error:
            seen.append(str(error))

    engine.push(work, const_vars=[a], mutable_vars=[b])
    engine.wait_for_all()
    assert "would never end" in seen[0]


def test_threads_per_worker():
    before = engine.num_threads_per_worker()
    rng = np.random.default_rng(0)
    values = rng.standard_normal((300, 400)).astype("float32")
    expected = mx.nd.dot(mx.nd.array(values), mx.nd.array(values.T)).asnumpy()
    try:
        engine.set_num_threads_per_worker(1)
        assert engine.num_threads_per_worker() == 1
        found = mx.nd.dot(mx.nd.array(values), mx.nd.array(values.T)).asnumpy()
        assert (found == expected).all()
        for wrong in (-1, 2**16, 1.5, "2", None):
            with pytest.raises(InvalidArgumentError, match="threads per worker"):
                engine.set_num_threads_per_worker(wrong)
    finally:
        engine.set_num_threads_per_worker(before)
    assert engine.num_threads_per_worker() == before


def test_kinds_of_work_by_number():
    found, var = [], engine.new_variable()
    for kind in engine.FnProperty:
        engine.push(lambda kind=kind: found.append(kind), mutable_vars=[var], prop=int(kind))
    engine.wait_for_var(var)
    assert found == list(engine.FnProperty)
    for wrong in (-1, 7, True, 1.0):
        with pytest.raises(ArgumentTypeError, match="prop must be"):
            engine.push(print, prop=wrong)


@pytest.mark.skipif(engine.num_workers() == 0, reason="the naive engine has no such wait")
def test_a_destructor_may_wait_for_what_its_function_holds():
    var, ended = engine.new_variable(), []

    class Waits:
        def __del__(self):
            engine.wait_for_var(var)
            ended.append(1)

    waits = Waits()
    engine.push(lambda waits=waits: None, mutable_vars=[var])
    del waits
    engine.wait_for_var(var)
    assert ended == [1]
