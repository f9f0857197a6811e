"""Bulk sizes, the engine's type, and the same answers with the naive engine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

engine = mx.engine


def test_bulk_size_is_kept_and_restored():
    before = engine.set_bulk_size(7)
    try:
        with engine.bulk(30):
            a = mx.nd.ones((2,)) + 1
            assert engine.set_bulk_size(31) == 30
        assert engine.set_bulk_size(7) == 7
        assert a.asnumpy().tolist() == [2, 2]
        with pytest.raises(ZeroDivisionError), engine.bulk(3):
            raise ZeroDivisionError
        assert engine.set_bulk_size(7) == 7
    finally:
        engine.set_bulk_size(before)
    with pytest.raises(InvalidArgumentError, match="negative"):
        engine.set_bulk_size(-1)


def test_bulk_size_is_each_threads_own():
    seen = []
    with engine.bulk(3):
        thread = threading.Thread(target=lambda: seen.append(engine.set_bulk_size(4)))
        thread.start()
        thread.join()
        assert engine.set_bulk_size(3) == 3
    assert seen == [15]


def test_counters_count():
    engine.wait_for_all()
    before = engine.counters()
    for _ in range(10):
        engine.push(lambda: None)
    engine.wait_for_all()
    after = engine.counters()
    assert after["pushed"] - before["pushed"] == 10
    assert after["completed"] == after["pushed"]
    assert after["in_flight"] == 0


@pytest.mark.parametrize("name", ["NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"])
def test_the_environment_chooses_the_engine(name):
    program = "import ferromix as mx; print(mx.engine.engine_type(), mx.engine.num_workers() > 0)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MXNET_ENGINE_TYPE": name},
        capture_output=True,
        text=True,
        timeout=60,
    )
    naive = name == "NaiveEngine"
    expected = "NaiveEngine False" if naive else "ThreadedEnginePerDevice True"
    assert (done.stdout.strip(), done.stderr) == (expected, "")


# Tests of functions that wait for what happens after their push; the naive engine's push waits.
LATER = ["later_write", "after_the_function", "blocked", "lets_other", "priority", "callback_is"]


@pytest.mark.parametrize(
    ("settings", "without"),
    [
        ({"MXNET_ENGINE_TYPE": "NaiveEngine"}, LATER),
        ({"MXNET_CUSTOM_OP_NUM_THREADS": "1", "MXNET_CPU_WORKER_NTHREADS": "1"}, ["priority"]),
        ({"MXNET_CUSTOM_OP_NUM_THREADS": "16"}, ["priority"]),
    ],
    ids=["naive", "one thread", "many threads"],
)
def test_functions_behave_the_same_with_other_settings(settings, without):
    here = Path(__file__).parent
    chosen = f"not ({' or '.join(without)})"
    files = [here / "test_push.py", here / "test_async.py"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-k",
            chosen,
            *files,
        ],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_budget_of_threads_changes_no_bits_and_ends_with_its_block():
    before = engine.num_threads()
    a = mx.nd.random.normal(shape=(300, 500))
    w = mx.nd.random.normal(shape=(500, 400))
    free = [mx.nd.dot(a, w).asnumpy(), a.sum(axis=0).asnumpy()]
    for most in (1, 2, 65535):
        with engine.threads(most):
            assert engine.num_threads() == min(most, before)
            with engine.threads(1):
                assert engine.num_threads() == 1
            again = [mx.nd.dot(a, w).asnumpy(), a.sum(axis=0).asnumpy()]
        for x, y in zip(free, again, strict=True):
            np.testing.assert_array_equal(x, y)
    assert engine.num_threads() == before


def test_a_budget_of_threads_goes_with_pushed_functions_but_not_to_other_threads():
    seen, before = [], engine.num_threads()

    def look():
        seen.append(engine.num_threads())

    with engine.threads(1):
        engine.push(look)
        engine.wait_for_all()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    engine.push(look)
    engine.wait_for_all()
    assert seen == [1, before, before]


@pytest.mark.parametrize("most", [0, -1, 65536, 1.5, "2", None, True])
def test_a_budget_of_threads_must_make_sense(most):
    with pytest.raises(InvalidArgumentError, match="1 to 65535"), engine.threads(most):
        raise AssertionError("the block ran")
