"""Random programs over two devices and four streams: the clocks know each order that is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from gpus import EAGER, ON_WAIT, POLICIES, RANDOM, SIZE, SOURCE, STARVE, Gpus, N, combine
from host import NEEDS_COMPILER

from ferromix.dispatch import host_driver

pytestmark = NEEDS_COMPILER

STREAMS, BUFFERS, LENGTH = 4, 6, 24


@dataclass
class Step:
    """Work on a stream; buffers of even numbers are on device 0, as are such streams."""

    kind: str
    stream: int
    out: int
    x: int
    y: int
    number: int
    waits: list[int]
    """The steps that it must wait for: none that others already have it wait for."""


class Orders:
    """What happens before what, by the program alone, in plain sets."""

    def __init__(self):
        self.streams = [set() for _ in range(STREAMS)]
        self.writer, self.readers = {}, {b: [] for b in range(BUFFERS)}
        self.pasts = []

    def add(self, stream, reads, writes):
        number = len(self.pasts)
        earlier = {self.writer[b] for b in (*reads, *writes) if b in self.writer}
        earlier |= {r for b in writes for r in self.readers[b]}
        past, waits = self.streams[stream], []
        for other in sorted(earlier, reverse=True):
            if other not in past:
                waits.append(other)
                past |= self.pasts[other]
        past.add(number)
        self.pasts.append(set(past))
        for b in reads:
            self.readers[b].append(number)
        for b in writes:
            self.writer[b], self.readers[b] = number, []
        return waits


def program(seed):
    """Steps whose results depend on their order, and mostly last."""
    random, orders, steps = np.random.default_rng(seed), Orders(), []
    for number in range(LENGTH):
        # Each buffer gets a value first, for all that is made of NaN is NaN.
        first = number < BUFFERS
        stream = number % STREAMS if first else int(random.integers(STREAMS))
        kind = "in" if first else random.choice(["combine"] * 16 + KINDS)
        own = [b for b in range(BUFFERS) if b % 2 == stream % 2]
        out, x, y = map(int, random.choice(own, 3))
        if first:
            out = number
        elif random.random() < 0.8:
            x = out
        if kind == "peer":
            x = int(random.choice([b for b in range(BUFFERS) if b % 2 != stream % 2]))
        reads = {"combine": {x, y}, "peer": {x}, "copy": {x} - {out}}.get(str(kind), set())
        if kind == "copy" and x == out:
            kind, reads = "fill", set()
        waits = orders.add(stream, reads, {out})
        steps.append(Step(str(kind), stream, out, x, y, number, waits))
    return steps


KINDS = ["copy", "fill", "in", "peer"]


def serial(steps):
    buffers = np.full((BUFFERS, N), np.nan, np.float32)
    for step in steps:
        x, y = buffers[step.x].copy(), buffers[step.y].copy()
        buffers[step.out] = {
            "combine": lambda x=x, y=y: x * np.float32(0.5) + y,
            "copy": lambda x=x: x,
            "peer": lambda x=x: x,
            "fill": lambda: np.float32(0),
            "in": lambda step=step: np.arange(N, dtype=np.float32) + step.number,
        }[step.kind]()
    return buffers


def run(gpus, path, steps, without_wait=None, without_record=None):
    """The buffers after a run; leaves out one wait (step, nth) or the record after a step."""
    needed = {other for step in steps for other in step.waits}
    streams, buffers, events = [], [], {}
    for number in range(STREAMS):
        gpus.use(number % 2)
        streams.append(gpus.stream())
    for number in range(BUFFERS):
        gpus.use(number % 2)
        buffers.append(gpus.alloc(SIZE))
    for step in steps:
        gpus.use(step.stream % 2)
        stream, out, x, y = streams[step.stream], *(buffers[b] for b in (step.out, step.x, step.y))
        for turn, other in enumerate(step.waits):
            if (step.number, turn) != without_wait:
                gpus.wait(stream, events[other])
        if step.kind == "combine":
            combine(gpus, path, stream, out, x, y, 0.5)
        elif step.kind == "copy":
            gpus.copy(out, x, SIZE, stream)
        elif step.kind == "peer":
            gpus.copy_peer(out, step.stream % 2, x, 1 - step.stream % 2, SIZE, stream)
        elif step.kind == "fill":
            gpus.fill(out, 0, SIZE, stream)
        else:
            gpus.copy_in(out, np.arange(N, dtype=np.float32) + np.float32(step.number), stream)
        if step.number in needed:
            events[step.number] = gpus.event()
            if step.number != without_record:
                gpus.record(events[step.number], stream)
    for device in range(2):
        gpus.use(device)
        gpus.call("cuCtxSynchronize")
    return np.array([gpus.read(at, N, streams[1]) for at in buffers])


@pytest.fixture(scope="module")
def path() -> Path:
    return host_driver.text_library(SOURCE)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_random_programs_equal_a_serial_replay(policy, path):
    for seed in range(250):
        gpus, steps = Gpus(policy, seed), program(seed)
        np.testing.assert_array_equal(run(gpus, path, steps), serial(steps), err_msg=f"{seed=}")
        assert gpus.races() == "", seed


SCHEDULES = [
    (EAGER, 0),
    (ON_WAIT, 0),
    *((STARVE, stream) for stream in range(2, 2 + STREAMS)),  # the first two are the devices' own
    *((RANDOM, chance) for chance in range(6)),
]


def mutants(steps):
    """Each wait left out once, and each record."""
    for step in steps:
        for turn in range(len(step.waits)):
            yield {"without_wait": (step.number, turn)}
    for other in {other for step in steps for other in step.waits}:
        yield {"without_record": other}


@pytest.mark.slow
def test_each_wait_and_record_that_is_left_out_is_a_race(path):
    total, wrong = 0, 0
    for seed in range(20):
        steps = program(seed)
        expected = serial(steps)
        for mutant in mutants(steps):
            seen = []
            for policy, chance in SCHEDULES:
                gpus = Gpus(policy, chance)
                found = run(gpus, path, steps, **mutant)
                seen.append(np.array_equal(found, expected, equal_nan=True))
                assert gpus.races() != "", (seed, mutant, policy, chance)
            assert seen[EAGER]
            total += 1
            wrong += not all(seen)
    assert total > 200
    assert wrong > total / 2
