"""The pool behind the arrays: accounts, limit and trimming."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

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
    with pytest.raises(ValueError, match="negative, got -1"):
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
    )
    assert run.stdout.startswith("134217728\n")
    assert "cannot allocate 268435456 bytes" in run.stdout
    assert "limit 134217728 bytes" in run.stdout
