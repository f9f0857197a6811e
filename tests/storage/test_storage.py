"""The pool behind the arrays: accounts, limit and trimming."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

import ferromix as mx

MIB = 1 << 20


def _filled(mebibytes: int) -> mx.nd.NDArray:
    array = mx.nd.ones((mebibytes, MIB // 4))
    array.wait_to_read()
    return array


def _drop() -> None:
    """Waits until arrays that are gone have given their memory back."""
    mx.nd.waitall()


def test_accounts_follow_an_array() -> None:
    _drop()
    before = mx.storage.stats()
    array = _filled(48)
    during = mx.storage.stats()
    assert during["in_use"] - before["in_use"] == 48 * MIB
    assert during["peak"] >= during["in_use"]
    assert during["peak_reserved"] >= during["in_use"] + during["cached"]
    assert during["hits"] + during["misses"] > before["hits"] + before["misses"]
    del array
    _drop()
    after = mx.storage.stats()
    assert after["in_use"] == before["in_use"]
    assert after["cached"] >= 48 * MIB


def test_memory_is_used_again() -> None:
    _filled(40)
    _drop()
    misses = mx.storage.stats()["misses"]
    for _ in range(5):
        _filled(40)
        _drop()
    assert mx.storage.stats()["misses"] == misses


def test_trim_keeps_what_it_is_told() -> None:
    arrays = [_filled(20) for _ in range(4)]
    del arrays
    _drop()
    released = mx.storage.stats()["released"]
    mx.storage.trim(40 * MIB)
    assert mx.storage.stats()["cached"] <= 40 * MIB
    mx.storage.trim()
    # What the engine's threads keep for themselves is out of reach, but bounded.
    assert mx.storage.stats()["cached"] < 40 * MIB
    assert mx.storage.stats()["released"] >= released + 4


def test_limit_is_reported_and_lifted() -> None:
    assert mx.storage.limit() is None
    mx.storage.set_limit(1 << 40)
    try:
        assert mx.storage.limit() == 1 << 40
    finally:
        mx.storage.set_limit(None)
    assert mx.storage.limit() is None


@pytest.mark.parametrize("call", [mx.storage.set_limit, mx.storage.trim])
def test_negative_sizes_are_refused(call: Callable[[int], None]) -> None:
    with pytest.raises(ValueError, match="must be an int >= 0, got -1"):
        call(-1)


def test_the_environment_sets_the_limit() -> None:
    program = (
        "import ferromix as mx\n"
        "print(mx.storage.limit())\n"
        "try:\n"
        "    mx.nd.zeros((64, 1 << 20)).asnumpy()\n"
        "except MemoryError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"FERROMIX_CPU_MEM_LIMIT": "128M", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert run.stdout.startswith("134217728\n")
    assert "cannot allocate 268435456 bytes" in run.stdout
    assert "limit 134217728 bytes" in run.stdout


@pytest.fixture
def limited() -> Iterator[Callable[[int], None]]:
    """Sets a limit of so many MiB above what is in use, for the test."""

    def limit(mebibytes: int) -> None:
        mx.nd.waitall()
        mx.storage.release_all()
        mx.storage.set_limit(mx.storage.stats()["in_use"] + mebibytes * MIB)

    yield limit
    mx.storage.set_limit(None)
    mx.nd.waitall()


def test_a_program_that_runs_ahead_waits_for_memory(limited: Callable[[int], None]) -> None:
    a = _filled(8)
    limited(40)
    total = mx.nd.zeros(a.shape)
    # Each step needs another 8 MiB until its operations are done.
    for _ in range(50):
        total += a * 2 + 1
    assert total[0, 0].asscalar() == 150


def test_a_wait_for_memory_lets_python_operations_run(limited: Callable[[int], None]) -> None:
    array = _filled(20)
    limited(10)

    ran: list[bool] = []

    def use() -> None:
        time.sleep(0.05)
        ran.append(True)

    mx.engine.push(use, const_vars=[array])
    del array
    # Fits only once the function, which needs the interpreter, is done with the other.
    assert _filled(20)[0, 0].asscalar() == 1
    assert ran == [True]


def test_the_error_says_who_holds_what(limited: Callable[[int], None]) -> None:
    limited(20)
    arrays = [_filled(6) for _ in range(3)]
    with pytest.raises(mx.error.OutOfMemoryError, match="3 of 6291456") as caught:
        _filled(7)
    assert isinstance(caught.value, MemoryError)
    assert "cannot allocate 7340032 bytes" in str(caught.value)
    assert "cpu(0)" in str(caught.value)
    del arrays
    assert _filled(7).shape[0] == 7


def test_temporary_space_is_kept_and_given_back() -> None:
    data = mx.nd.ones((4, 8, 64, 64))
    weight = mx.nd.ones((8, 8, 5, 5))

    def convolve() -> None:
        mx.nd.Convolution(data, weight, kernel=(5, 5), num_filter=8, no_bias=True).wait_to_read()

    turned = mx.nd.ones((512, 512))
    turned[:] = turned[:, ::-1]
    convolve()
    mx.nd.waitall()
    assert mx.storage.stats()["temporary"] >= MIB
    mx.storage.release_all()
    assert mx.storage.stats()["temporary"] == 0
    convolve()
