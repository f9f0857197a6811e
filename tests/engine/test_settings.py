"""Bulk sizes, the engine's type, and the same answers with the naive engine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

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
