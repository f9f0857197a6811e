"""Very many operations of all kinds, recorded and not, with errors in between: memory stays flat.

``FERROMIX_MIXED_OPERATIONS`` is their number (docs/reliability.md).
"""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

pytestmark = pytest.mark.slow

OPERATIONS = int(os.environ.get("FERROMIX_MIXED_OPERATIONS", "200000"))
FLAT = 4 << 20
"""Bytes by which the process may grow: the allocator's doing, less than a thousandth of what the
operations' arrays take."""


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Work:
    """A program that computes the same with arrays and with NumPy, some 40 operations a round."""

    SHAPE = (8, 16)

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.state = np.zeros(self.SHAPE)
        self.array = mx.nd.zeros(self.SHAPE, dtype="float64")
        self.weight = mx.nd.ones(self.SHAPE, dtype="float64")
        self.weight.attach_grad()

    def round(self) -> int:
        """Runs one round, and gives the number of operations."""
        # Few numbers, as those that were used last are remembered with what they make.
        number = float(self.random.integers(8, 25)) / 16
        values = self.random.standard_normal(self.SHAPE)
        done = self.plain(values, number) + self.recorded(values, number) + self.wrong(number)
        np.testing.assert_allclose(self.array.asnumpy(), self.state, rtol=1e-9, atol=1e-9)
        return done

    def plain(self, values: np.ndarray, number: float) -> int:
        x, a = mx.nd.array(values, dtype="float64"), self.array
        row = int(self.random.integers(8))
        a *= 0.5
        a += x * number
        a[row] = mx.nd.maximum(x, 0)[row]
        a[:, 2:4] = x[:, 2:4] > number
        mx.nd.clip(a, -number, number, out=a)
        mx.nd.sgd_update(a, x, lr=number / 8, out=a)
        total = mx.nd.sum(-a, axis=1, keepdims=True)
        a -= abs(total) / 16
        s = self.state * 0.5 + values * number
        s[row] = np.maximum(values[row], 0)
        s[:, 2:4] = values[:, 2:4] > number
        s = np.clip(s, -number, number) - number / 8 * values
        self.state = s - np.abs(s.sum(axis=1, keepdims=True)) / 16
        return 20

    def recorded(self, values: np.ndarray, number: float) -> int:
        x, w = mx.nd.array(values, dtype="float64"), self.weight
        with mx.autograd.record():
            loss = (mx.nd.square(w[2:6] * x[2:6]) * number).sum()
            mx.nd.exp(w).mean()  # recorded, and not differentiated
        loss.backward()
        expected = np.zeros(self.SHAPE)
        expected[2:6] = 2 * number * values[2:6] ** 2
        np.testing.assert_allclose(w.grad.asnumpy(), expected, rtol=1e-9)
        return 16

    def wrong(self, number: float) -> int:
        a, w = self.array, self.weight
        with pytest.raises(InvalidArgumentError, match="does not broadcast"):
            _ = a + mx.nd.ones((3,), dtype="float64")
        with pytest.raises(InvalidArgumentError, match="unknown attribute 'axes'"):
            mx.nd.sum(a, axes=number)
        with mx.autograd.record():
            twice = w * number
            with pytest.raises(InvalidArgumentError, match="part of the graph"):
                twice += 1
        twice.backward()
        with pytest.raises(InvalidArgumentError, match="was freed by the backward"):
            twice.backward()
        return 6


def run(seed: int, operations: int) -> None:
    work = Work(seed)
    while operations > 0:
        operations -= work.round()
    mx.nd.waitall()


def run_threads(operations: int) -> None:
    problems: list[BaseException] = []

    def act(seed: int) -> None:
        try:
            run(seed, operations // 8)
        except BaseException as error:  # reported by the thread that waits
            problems.append(error)

    threads = [threading.Thread(target=act, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize("go", [lambda n: run(1, n), run_threads], ids=["one", "eight threads"])
def test_mixed_operations_keep_memory_flat(go):
    go(OPERATIONS // 4)
    before, in_use = resident(), mx.storage.stats()["in_use"]
    go(OPERATIONS - OPERATIONS // 4)
    assert mx.storage.stats()["in_use"] <= in_use + (1 << 16)
    grown = resident() - before
    assert grown < FLAT, f"{grown} bytes"


@pytest.mark.nightly  # a minute
def test_programs_of_long_tapes_are_forgotten():
    def backward(count: int) -> None:
        x = mx.nd.ones((1,))
        x.attach_grad()
        with mx.autograd.record():
            y = x
            for _ in range(count):
                y = mx.nd.negative(y)
        y.backward()
        assert x.grad.item() == (-1) ** count

    def grown(counts: range) -> int:
        before = resident()
        for count in counts:
            backward(count)
        mx.nd.waitall()
        return resident() - before

    first = grown(range(10_000, 10_021))  # more nodes than are remembered
    grown(range(10_100, 10_121))  # until the allocator has what it needs
    again = grown(range(10_200, 10_221))
    assert again < max(first, FLAT) / 2, f"{first >> 20} MiB, then {again >> 20} MiB more"
