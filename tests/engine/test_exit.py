"""An interpreter that ends with work pending: soon, silently, with its own exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

HEAD = """
import sys, threading, time
import ferromix as mx
engine, arrays = mx.engine, [mx.nd.ones((4,)) for _ in range(100)]
"""
TAIL = """
print(engine.counters()["in_flight"], time.time())
"""

PENDING = {
    "kernels": """
kept = []
engine.push_async(kept.append, mutable_vars=[arrays[0]])
for i in range(1_000_000):
    arrays[1 + i % 99] += arrays[0]
""",
    "a bulk": """
kept = []
engine.push_async(kept.append, mutable_vars=[arrays[0]])
engine.set_bulk_size(1000)
for array in arrays:
    array += arrays[0]
""",
    "functions in a row": """
var = engine.new_variable()
for i in range(200_000):
    engine.push(lambda: time.sleep(0.001), mutable_vars=[var])
""",
    "functions side by side": """
for i in range(200_000):
    engine.push(lambda: time.sleep(0.001))
""",
    "functions that sleep": """
for i in range(20):
    engine.push(lambda: time.sleep(30))
time.sleep(0.1)
""",
    "functions that compute": """
def spin():
    while True:
        pass
for i in range(8):
    engine.push(spin)
time.sleep(0.1)
""",
    "functions that wait": """
kept, var = [], engine.new_variable()
engine.push_async(kept.append, mutable_vars=[var])
for i in range(20):
    engine.push(var.wait)
time.sleep(0.1)
""",
    "functions that push": """
def again():
    engine.push(again)
    arrays[0][:] = arrays[1] + 1
for i in range(8):
    engine.push(again)
time.sleep(0.1)
""",
    "daemon threads that wait": """
kept, var = [], engine.new_variable()
engine.push_async(kept.append, mutable_vars=[var])
for i in range(8):
    threading.Thread(target=var.wait, daemon=True).start()
""",
    "failures": """
def fail():
    time.sleep(0.001)
    raise ValueError("nobody asked")
for i in range(20_000):
    engine.push(fail)
""",
}


@pytest.mark.parametrize("program", PENDING.values(), ids=PENDING)
def test_the_process_ends_at_once_and_says_nothing(program):
    # Without the bound, whose pushes would wait until most is done.
    env = os.environ | {"FERROMIX_MAX_OPS_IN_FLIGHT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program + TAIL + "sys.exit(7)"],
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
    )
    ended = time.time()
    assert (done.returncode, done.stderr) == (7, "")
    pending, end_of_program = done.stdout.split()
    assert int(pending) > 0
    # A second, on a machine that does nothing else; the functions that sleep would take 30.
    assert ended - float(end_of_program) < 20


def test_pushes_are_refused_and_waits_end_when_the_interpreter_is_ending():
    program = """
import atexit
def late():
    for push in (lambda: engine.push(print), lambda: engine.wait_for_all()):
        try:
            push()
        except mx.MXNetError as e:
            print(e)
atexit.register(late)
"""
    work = """
for i in range(100):
    engine.push(lambda: time.sleep(0.05))
"""
    done = subprocess.run(
        # Registered before the package's own, so that it runs after that.
        [sys.executable, "-c", program + HEAD + work],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    refused, unfinished = done.stdout.split("\n", 1)
    assert "shutting down" in refused
    assert "interpreter is about to end" in unfinished


def test_nothing_is_lost_that_was_waited_for():
    program = """
done = []
for i in range(1000):
    engine.push(lambda: done.append(1))
engine.wait_for_all()
print(len(done))
"""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000\n", "")


BINDS = """
import threading, time
import ferromix as mx
x = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=32), act_type="tanh")
symbol = mx.sym.MakeLoss(x)
def work():
    while True:
        symbol.simple_bind(mx.cpu(), x=(32, 32))
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize("run", range(8))
def test_daemon_threads_that_bind_graphs_do_not_crash_the_process(run):
    done = subprocess.run(
        [sys.executable, "-c", BINDS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run, done.returncode, done.stderr) == (run, 0, "")
