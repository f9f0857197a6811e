"""Bulk sizes, the engine's type, and the same answers with the naive engine."""

from __future__ import annotations

import gc
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
    for wrong in (-1, 2**70, 1.5, "3", None):
        with pytest.raises(InvalidArgumentError, match="a bulk size must be an int of 0 to"):
            engine.set_bulk_size(wrong)
    assert engine.set_bulk_size(before) == before


def test_bulk_size_is_each_threads_own():
    seen = []
    with engine.bulk(3):
        thread = threading.Thread(target=lambda: seen.append(engine.set_bulk_size(4)))
        thread.start()
        thread.join()
        assert engine.set_bulk_size(3) == 3
    assert seen == [0]


def test_a_bulk_is_one_operation_with_the_same_results():
    rng = np.random.default_rng(3)
    expected = rng.standard_normal((5, 7)).astype("float32")
    a = mx.nd.array(expected)
    a.wait_to_read()
    gc.collect()  # arrays of other tests, whose deletions would count
    before = engine.counters()["pushed"]
    with engine.bulk(15):
        for k in range(30):
            a += k
            expected += k
        for _ in range(10):
            a = a * 0.5 + 1  # the temporary arrays are deleted in between
            expected = expected * np.float32(0.5) + 1
        halves = a[:, :3], a[:, 3:]
        halves[0][:] = 2
        np.testing.assert_array_equal(a.asnumpy()[:, 3:], expected[:, 3:])
        np.testing.assert_array_equal(halves[0].asnumpy(), np.full((5, 3), 2, "float32"))
    operations = engine.counters()["pushed"] - before
    if engine.engine_type() != "NaiveEngine":
        assert operations < 50, "of 30 additions, 20 in the chain, 20 deletions and a fill"


def test_an_error_in_a_bulk_comes_from_its_own_line():
    with engine.bulk(15):
        a = mx.nd.ones((2,))
        b = a + 1
        broken = mx.nd.zeros((2,))
        engine.push(_fail, mutable_vars=[broken])
        c = broken + 1
        np.testing.assert_array_equal(b.asnumpy(), [2, 2])
        with pytest.raises(ZeroDivisionError):
            c.wait_to_read()


def _fail():
    raise ZeroDivisionError


def test_what_a_thread_has_collected_is_pushed_when_it_ends():
    a = mx.nd.zeros((3,))

    def work():
        engine.set_bulk_size(100)
        for _ in range(7):
            a.__iadd__(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    engine.wait_for_all()
    np.testing.assert_array_equal(a.asnumpy(), [7, 7, 7])


def test_arrays_that_go_on_another_thread_last_until_what_was_collected_has_run():
    box = [mx.nd.arange(4), mx.nd.ones((4,))]
    with engine.bulk(100):
        sums = box[0] + box[1]
        box[1] += sums
        # Their last references.
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        assert not box
        others = [mx.nd.full((4,), 7) for _ in range(50)]
        doubled = sums * 2
    np.testing.assert_array_equal(doubled.asnumpy(), [2, 4, 6, 8])
    np.testing.assert_array_equal([o.asnumpy() for o in others], np.full((50, 4), 7))


def test_a_function_may_use_arrays_it_holds_and_others_in_a_bulk():
    held, other = mx.nd.zeros((3,)), mx.nd.ones((3,))

    def function():
        with engine.bulk(10):
            held[:] = other + 1
            engine.set_bulk_size(5)
            assert held.asnumpy().tolist() == [2, 2, 2]

    engine.push(function, mutable_vars=[held])
    held.wait_to_read()
    np.testing.assert_array_equal(held.asnumpy(), [2, 2, 2])


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
LATER = [
    "later_write",
    "after_the_function",
    "blocked",
    "lets_other",
    "priority",
    "callback_is",
    "second_callback",
]


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
