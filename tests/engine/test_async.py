"""Asynchronous functions: completed from anywhere, once, well or with an error."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import MXNetError

engine = mx.engine
pytestmark = pytest.mark.timeout(60)


def test_the_operation_ends_when_the_callback_is_called():
    var, order, calls = engine.new_variable(), [], []
    started = threading.Event()

    def start(on_complete):
        calls.append(on_complete)
        started.set()

    def finish():
        started.wait()
        order.append("completed")
        calls[0]()

    thread = threading.Thread(target=finish)
    thread.start()
    engine.push_async(start, mutable_vars=[var])
    engine.push(lambda: order.append("next"), const_vars=[var])
    engine.wait_for_all()
    thread.join()
    assert order == ["completed", "next"]


def test_many_operations_completed_by_foreign_threads():
    var, values = engine.new_variable(), []

    def start(i):
        def run(on_complete):
            def finish():
                values.append(i)
                on_complete()

            threading.Thread(target=finish).start()

        return run

    for i in range(200):
        engine.push_async(start(i), mutable_vars=[var])
    engine.wait_for_var(var)
    assert values == list(range(200))


def test_completion_inside_the_function():
    out = mx.nd.zeros((2,))

    def run(on_complete):
        out[:] = 7
        on_complete()

    engine.push_async(run, mutable_vars=[out])
    np.testing.assert_array_equal(out.asnumpy(), [7, 7])


def test_an_error_given_to_the_callback_surfaces():
    var, error = engine.new_variable(), ConnectionError("far")
    engine.push_async(lambda done: done(error), mutable_vars=[var])
    with pytest.raises(ConnectionError) as e:
        engine.wait_for_var(var)
    assert e.value is error
    assert "pushed at" in error.__notes__[0]


def test_a_function_that_raises_before_completing_fails():
    var, error = engine.new_variable(), LookupError("early")

    def run(on_complete):
        raise error

    engine.push_async(run, mutable_vars=[var])
    with pytest.raises(LookupError) as e:
        engine.wait_for_var(var)
    assert e.value is error


def test_a_callback_that_is_dropped_fails_the_operation():
    var = engine.new_variable()
    engine.push_async(lambda on_complete: None, mutable_vars=[var], name="forgetful")
    gc.collect()
    with pytest.raises(MXNetError, match="forgetful failed: its OnComplete was dropped"):
        engine.wait_for_var(var)


def test_the_second_call_and_a_wrong_argument_are_errors():
    var, errors, tried = engine.new_variable(), [], threading.Event()

    def run(on_complete):
        for argument in (3, None, None):
            try:
                on_complete(argument)
            except (TypeError, MXNetError) as e:
                errors.append(str(e))
        tried.set()

    engine.push_async(run, mutable_vars=[var])
    engine.wait_for_var(var)
    assert tried.wait(10)
    assert "exception or None" in errors[0]
    assert "exactly once" in errors[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_after_completion_is_reported_as_unraisable(monkeypatch):
    seen, reported = [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda u: (seen.append(u.exc_value), reported.set()))
    var, error = engine.new_variable(), RuntimeError("late")

    def run(on_complete):
        on_complete()
        raise error

    engine.push_async(run, mutable_vars=[var])
    engine.wait_for_var(var)
    assert reported.wait(10)
    assert seen == [error]
