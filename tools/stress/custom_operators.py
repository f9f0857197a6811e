"""Load on operators of one's own: many threads, every kind of operator, whatever may go wrong.

    python tools/stress/custom_operators.py [--runs 100000] [--threads 8] [--seed 1]

Threads call and record operators of all kinds, run them in bound graphs and push functions, with
runs that raise, that push and wait inside, and that wait for what depends on themselves, which must
raise. The process forks meanwhile, and children compute, too; processes end with runs pending. Each
value is checked, each function must run exactly once, and memory must not grow. If nothing goes on
for a minute, all threads are printed and the program fails.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

import ferromix as mx

engine = mx.engine
RAN = itertools.count()
"""Counts the runs of functions, by ``next``, which no other thread can come between."""
HANG = 60
"""Seconds without any progress that are a hang."""
WARM_UP = 0.3
"""The part of the runs after which memory is to stay as it is."""
GROWTH = 8 << 20
"""Bytes that a process may have more at the end, for what the allocator keeps."""
ROWS = 6


class ExpectedError(Exception):
    """What functions raise that are to fail."""


class Scale(mx.operator.CustomOp):
    """``factor * data``; with a `mode`, something happens meanwhile."""

    def __init__(self, factor: float, mode: str) -> None:
        super().__init__()
        self.factor, self.mode = factor, mode

    def forward(self, is_train, req, in_data, out_data, aux):
        """Keeps its factor for backward."""
        next(RAN)
        if self.mode == "raise":
            raise ExpectedError(self.factor)
        if self.mode == "nested":
            self._nest(in_data[0])
        self.kept = self.factor
        self.assign(out_data[0], req[0], in_data[0] * self.factor)

    def _nest(self, data) -> None:
        """Pushes further work, and waits for what does not depend on this run."""
        inner = mx.nd.Custom(data, op_type="stress_scale", factor=2)
        other = mx.nd.ones((3,))
        engine.push(lambda: (next(RAN), other.__setitem__(slice(None), 5)), mutable_vars=[other])
        require(other, np.full(3, 5.0))
        require(inner, 2 * mx.operator.numpy_view(data))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Uses what forward kept."""
        next(RAN)
        if self.mode == "raise back":
            raise ExpectedError(self.factor)
        self.assign(in_grad[0], req[0], out_grad[0] * self.kept)


@mx.operator.register("stress_scale")
class ScaleProperty(mx.operator.CustomOpProp):
    """The operator by name."""

    def __init__(self, factor: str = "1", mode: str = "") -> None:
        super().__init__()
        self.factor, self.mode = float(factor), mode

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """One for each call."""
        return Scale(self.factor, self.mode)


class Power(mx.operator.Operator):
    """``data ** power``, over views of memory."""

    def __init__(self, power: int) -> None:
        self.power = power

    def forward(self, ctx, in_data, req, out_data, aux):
        """Writes through a view."""
        next(RAN)
        result = mx.operator.numpy_view(in_data[0]) ** self.power
        mx.operator.assign(out_data[0], req[0], result)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
        """By arrays."""
        next(RAN)
        slope = self.power * in_data[0] ** (self.power - 1)
        mx.operator.assign(in_grad[0], req[0], slope * out_grad[0])


@mx.operator.register
class PowerProperty(mx.operator.OperatorProperty):
    """A power."""

    name = "stress_power"
    params = {"power": mx.operator.Param("int", 2, "The exponent.", low=1)}  # noqa: RUF012

    def create_operator(self, ctx):
        """One for each call."""
        return Power(self.attrs["power"])


def _square(x, env):
    next(RAN)
    return env.scalar * x * x


def _square_back(grad, x, env):
    next(RAN)
    return 2 * env.scalar * x * grad


mx.operator.SimpleOp("stress_square").set_enable_scalar().set_function(_square).set_gradient(
    "T2", _square_back, inplace="out_in"
).register()


def require(found: mx.nd.NDArray, wanted: np.ndarray) -> None:
    """Fails on another value."""
    assert_allclose(found.asnumpy(), wanted, rtol=2e-5, atol=1e-5)


def require_error(array: mx.nd.NDArray, kind: type[Exception], said: object = "") -> None:
    """Fails unless the wait for an array raises."""
    try:
        array.wait_to_read()
    except kind as error:
        found = str(error)
    else:
        found = f"nothing, but {array.asnumpy()}"
    assert str(said) in found, f"a wait that was to raise {said!r} raised {found}"


class Client:
    """One of the threads: each of its methods is a scenario, and returns how many functions ran."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.executor, self.uses = None, 0

    def values(self) -> np.ndarray:
        """Some numbers of a shape among a few."""
        return self.numbers.uniform(0.5, 1.5, (ROWS, self.random.choice((1, 3, 8)))).astype("f4")

    def imperative(self) -> int:
        """Calls that follow each other, none of which is waited for."""
        x, count = self.values(), self.random.randint(1, 12)
        y = mx.nd.array(x)
        for _ in range(count):
            y = mx.nd.Custom(y, op_type="stress_scale", factor=1.25)
        z = mx.nd.stress_power(y, power=2)
        mx.nd.stress_square(z, scalar=3, out=z)
        require(z, 3 * (x * 1.25**count) ** 4)
        return count + 2

    def recorded(self) -> int:
        """A backward pass through all kinds."""
        x = self.values()
        data = mx.nd.array(x)
        data.attach_grad(self.random.choice(("write", "add")))
        with mx.autograd.record():
            y = mx.nd.Custom(data, op_type="stress_scale", factor=0.5)
            z = mx.nd.stress_square(mx.nd.stress_power(y, power=3), scalar=2)
        z.backward()
        require(data.grad, 2 * 6 * 0.5**6 * x**5)
        require(z, 2 * (0.5 * x) ** 6)
        return 6

    def bound(self) -> int:
        """Passes of a graph, with a request that adds."""
        if self.executor is None or self.uses > 20:
            x = mx.sym.var("x")
            y = mx.sym.Custom(x * 2, op_type="stress_scale", factor=0.5)
            out = mx.sym.stress_square(mx.sym.stress_power(y, power=2) + x, scalar=1)
            self.executor = out.simple_bind(mx.cpu(), x=(ROWS, 3), grad_req="add")
            self.uses = 0
        passes, total = self.random.randint(1, 4), 0.0
        self.executor.grad_dict["x"][:] = 0
        for _ in range(passes):
            x = self.numbers.uniform(0.5, 1.5, (ROWS, 3)).astype("f4")
            self.executor.forward(is_train=True, x=mx.nd.array(x))
            self.executor.backward(mx.nd.ones((ROWS, 3)))
            total = total + 2 * (x * x + x) * (2 * x + 1)
            require(self.executor.outputs[0], (x * x + x) ** 2)
        require(self.executor.grad_dict["x"], total)
        self.uses += passes
        return 6 * passes

    def pushed(self) -> int:
        """Functions on one array, between kernels."""
        total, count = mx.nd.zeros((4,)), self.random.randint(2, 16)

        def add(step: int) -> None:
            next(RAN)
            total[:] += step

        for step in range(count):
            engine.push(lambda step=step: add(step), mutable_vars=[total], priority=step)
            total += 1
        require(total, np.full(4, count * (count - 1) / 2 + count))
        return count

    def failing(self) -> int:
        """Functions that raise: each failure surfaces, once.

        With few attributes that differ: what is known of the latest thousands is kept.
        """
        x, tag = mx.nd.array(self.values()), self.random.randint(1, 20) / 4
        y = mx.nd.Custom(x, op_type="stress_scale", mode="raise", factor=tag)
        require_error(mx.nd.Custom(y + 1, op_type="stress_scale"), ExpectedError, tag)
        x.attach_grad()
        with mx.autograd.record():
            z = mx.nd.Custom(x, op_type="stress_scale", mode="raise back", factor=tag)
        z.backward()
        require_error(x.grad, ExpectedError, tag)
        require(z, x.asnumpy() * np.float32(tag))
        return 3

    def nested(self) -> int:
        """Functions that push, and wait for what does not depend on them."""
        x = self.values()
        y = mx.nd.Custom(mx.nd.array(x), op_type="stress_scale", mode="nested", factor=3)
        require(y * 1, 3 * x)
        return 3

    def in_vain(self) -> int:
        """A function that waits for what depends on itself."""
        first, second = mx.nd.zeros((2,)), mx.nd.zeros((2,))

        def wait() -> None:
            next(RAN)
            engine.push(lambda: None, const_vars=[first], mutable_vars=[second])
            second.wait_to_read()

        engine.push(wait, mutable_vars=[first])
        require_error(first, mx.MXNetError, "depends on the operation itself")
        # The one behind it was skipped if it was pushed before that wait, which nobody knows.
        engine.wait_for_var(second)
        return 1

    def run(self, limit: int, progress: Progress) -> None:
        """Scenarios at random, until there were enough runs."""
        weights = {
            self.imperative: 10,
            self.recorded: 10,
            self.bound: 10,
            self.pushed: 10,
            self.failing: 5,
            self.nested: 10,
            self.in_vain: 1,
        }
        scenarios = self.random.choices(list(weights), list(weights.values()), k=limit)
        for scenario in scenarios:
            if progress.is_over(limit):
                return
            try:
                progress.add(scenario())
            except BaseException as error:
                progress.fail(f"{scenario.__name__}: {error!r}")
                raise


class Progress:
    """How many functions are to have run, and what went wrong."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs = 0
        self.failures: list[str] = []

    def add(self, runs: int) -> None:
        """Some have run."""
        with self.lock:
            self.runs += runs

    def fail(self, what: str) -> None:
        """Something is wrong: all threads stop."""
        with self.lock:
            self.failures.append(what)

    def is_over(self, limit: int) -> bool:
        """Whether there were enough."""
        return self.runs >= limit or bool(self.failures)


def in_child() -> None:
    """Forks; the child runs some of it, and ends well."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, f"a child ended with {status}"
        return
    code = 1
    try:
        # The watchdog's thread is not here, and cannot be stopped.
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(HANG)
        client = Client(os.getpid())
        for scenario in (client.imperative, client.recorded, client.bound, client.failing):
            scenario()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


ENDING = """
import sys
sys.path.insert(0, {folder!r})
import custom_operators as stress
import ferromix as mx
stress.Client({seed}).imperative()
x = mx.nd.ones((4,))
for _ in range(300):
    x = mx.nd.Custom(x, op_type="stress_scale", factor=1)
    mx.nd.Custom(x, op_type="stress_scale", mode="nested")
    mx.engine.push(lambda: mx.nd.ones((2,)).wait_to_read(), mutable_vars=[x])
"""


def in_ending_process(seed: int) -> None:
    """A process that ends with runs pending, soon and silently."""
    program = ENDING.format(folder=str(Path(__file__).parent), seed=seed)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    said = (done.returncode, done.stdout, done.stderr)
    assert said == (0, "", ""), f"a process that ended with runs pending: {said}"


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_use() -> int:
    """Bytes of arrays, once all is quiet."""
    mx.nd.waitall()
    gc.collect()
    return mx.storage.stats()["in_use"]


def phase(clients: list[Client], runs: int, aside: Callable[[], None]) -> int:
    """Has all clients run until so many functions have; does something `aside` now and then."""
    progress, first = Progress(), next(RAN) + 1
    threads = [threading.Thread(target=c.run, args=(runs, progress)) for c in clients]
    for thread in threads:
        thread.start()
    seen, since = 0, time.monotonic()
    while any(thread.is_alive() for thread in threads):
        if progress.runs != seen:
            seen, since = progress.runs, time.monotonic()
            faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            aside()
        except BaseException as error:
            progress.fail(repr(error))
            break
        if time.monotonic() - since > 2 * HANG:
            progress.fail(f"nothing has gone on for {2 * HANG} seconds")
        threads[0].join(0.05)
    for thread in threads:
        thread.join()
    mx.nd.waitall()
    assert not progress.failures, "; ".join(progress.failures)
    ran = next(RAN) - first
    assert ran == progress.runs, f"{ran} functions ran, instead of {progress.runs}"
    return ran


def main() -> None:
    """Runs it all, and prints what was checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forks", type=float, default=1.0, help="seconds between them")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
    faulthandler.dump_traceback_later(HANG, exit=True)
    clients = [Client(options.seed * 1000 + i) for i in range(options.threads)]
    begin, forks, ends, due = time.monotonic(), 0, 0, time.monotonic()

    def aside() -> None:
        nonlocal forks, ends, due
        if time.monotonic() < due:
            return
        in_child()
        forks += 1
        if forks % 5 == 1:
            in_ending_process(options.seed + forks)
            ends += 1
        due = time.monotonic() + options.forks

    runs = phase(clients, int(options.runs * WARM_UP), aside)
    before = in_use(), resident()
    runs += phase(clients, options.runs - runs, aside)
    after = in_use(), resident()
    faulthandler.cancel_dump_traceback_later()
    seconds = time.monotonic() - begin
    load = f"{options.threads} threads, {forks} forks, {ends} ends"
    print(f"{runs} runs in {seconds:.1f} s: {load}")
    print(f"arrays {before[0]} -> {after[0]} bytes, process {before[1]} -> {after[1]} bytes")
    assert after[0] <= before[0] + (64 << 10), "arrays are left over"
    assert after[1] <= before[1] + GROWTH, "the process has grown"


if __name__ == "__main__":
    main()
