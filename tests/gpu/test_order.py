"""Programs over two GPUs and the host give what their operations give one after the other, however
late streams run; what orders them cannot be left out unnoticed."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

import ferromix as mx

from .device import EAGER, HOST, ON_WAIT, RANDOM, STARVED, driver, races, schedule, synchronize

SIZE = 24
PLACES = [mx.gpu(0), mx.gpu(1 if HOST else 0), mx.gpu(0), mx.cpu()]
"""Where the arrays of a program are."""


class Program:
    """Random operations on a few arrays, each also done by NumPy at once."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.expected = [self.rng.integers(-3, 4, SIZE).astype(np.float32) for _ in range(6)]
        places = self.rng.integers(0, len(PLACES), 6)
        self.arrays = [
            mx.nd.array(x, ctx=PLACES[p]) for x, p in zip(self.expected, places, strict=True)
        ]

    def pick(self) -> tuple[int, int]:
        a, b = self.rng.integers(0, len(self.arrays), 2)
        return int(a), int(b)

    def step(self) -> None:
        a, b = self.pick()
        x, y = self.arrays[a], self.arrays[b]
        kind = self.rng.integers(0, 7)
        if kind == 0:
            x += 1
            self.expected[a] += 1
        elif kind == 1:
            y.copyto(x) if a != b else None
            self.expected[a] = self.expected[b].copy()
        elif kind == 2 and x.context == y.context:
            self.arrays[a] = mx.nd.broadcast_maximum(x, y)  # the old memory is free at once
            self.expected[a] = np.maximum(self.expected[a], self.expected[b])
        elif kind == 3 and x.context == y.context:
            mx.nd.broadcast_minimum(x, y, out=x)
            self.expected[a] = np.minimum(self.expected[a], self.expected[b])
        elif kind == 4:
            half = slice(*sorted(self.rng.integers(0, SIZE + 1, 2).tolist()))
            if half.start < half.stop:
                x[half] = 2
                self.expected[a][half] = 2
        elif kind == 5:
            np.testing.assert_array_equal(x.asnumpy(), self.expected[a])
        else:
            values = self.rng.integers(-3, 4, SIZE).astype(np.float32)
            x[:] = values
            self.expected[a] = values

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def check(self) -> None:
        for found, expected in zip(self.arrays, self.expected, strict=True):
            np.testing.assert_array_equal(found.asnumpy(), expected)


def run(first: int, count: int, policy: int) -> None:
    for seed in range(first, first + count):
        schedule(policy, seed)
        program = Program(seed)
        program.run(12)
        program.check()
        assert races() == "", f"seed {seed}"


@pytest.mark.parametrize("policy", [EAGER, ON_WAIT, RANDOM, STARVED])
def test_programs_give_what_a_serial_replay_gives(policy):
    run(1000 * policy, 150, policy)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_programs():
    for policy in (ON_WAIT, RANDOM, STARVED):
        run(10**6 * policy, 33_334, policy)


SCHEDULES = [(ON_WAIT, 0), (RANDOM, 1), (RANDOM, 2), *((STARVED, n) for n in (4, 5, 8, 9))]
"""Orders that a program runs in which lacks something."""


def left_out(symbol: str, number: int, seed: int) -> tuple[bool, bool, bool]:
    """Whether a program has such a call; whether clocks, and values, tell that it is missing."""
    library, found, noticed, wrong = driver(), False, False, False
    for policy, which in SCHEDULES:
        schedule(policy, which)
        program = Program(seed)
        assert races() == "", f"before seed {seed}"
        library.fm_host_skip(symbol.encode(), ctypes.c_longlong(number))
        try:
            program.run(20)
            program.check()
            differs = False
        except AssertionError:
            differs = True
        skipped = bool(library.fm_host_skip(symbol.encode(), ctypes.c_longlong(-1)))
        mx.nd.waitall()
        synchronize()  # what was left out may have had the runtime believe that something is done
        told = races()
        assert skipped or not (told or differs), f"seed {seed}: {told}"
        found, noticed, wrong = found or skipped, noticed or bool(told), wrong or differs
    return found, noticed, wrong


@pytest.mark.skipif(not HOST, reason="only the stand-in leaves out what it is told to")
@pytest.mark.parametrize("symbol", ["cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize"])
def test_what_orders_cannot_be_left_out(symbol):
    """Each call of a program is left out once: clocks see it, and in most cases values are wrong.

    Here and there two pieces of work use different parts of an array, which the engine orders as a
    whole: then nobody can tell.
    """
    mutants = noticed = wrong = 0
    for seed in range(6):
        for number in itertools.count():
            found, told, differs = left_out(symbol, number, seed)
            if not found:
                break
            mutants, noticed, wrong = mutants + 1, noticed + told, wrong + differs
    print(f"{symbol}: {mutants} left out, {noticed} by clocks, {wrong} by values")
    assert mutants > 15
    assert noticed >= 0.98 * mutants, f"{noticed} of {mutants}"
    assert wrong >= 0.5 * mutants, f"{wrong} of {mutants}"
