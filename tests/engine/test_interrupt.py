"""Signals in the middle of a wait: handlers run, Ctrl-C ends the wait, and the engine goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

pytestmark = pytest.mark.slow

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import ferromix as mx
# What runs in the background of a shell inherits that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
engine, kept = mx.engine, []
a, var = mx.nd.ones((3,)), engine.new_variable()
def hold():
    engine.push_async(kept.append, mutable_vars=[a, var])
    while not kept:
        time.sleep(0.001)
def let_go():
    kept.pop()()
def say(*words):
    print(*words, flush=True)
hold()
a += 1
"""

WAITS = {
    "waitall": "mx.nd.waitall()",
    "wait_for_all": "engine.wait_for_all()",
    "wait_for_var": "engine.wait_for_var(var)",
    "wait_to_read": "a.wait_to_read()",
    "asnumpy": "a.asnumpy()",
    "asscalar": "a[0].asscalar()",
    "view": "a[::2].asnumpy()",
}


def run(program, *signals):
    """Runs a program; sends a signal each time it says `ready`. Returns its other lines."""
    lines, left = [], list(signals)
    with subprocess.Popen(
        [sys.executable, "-c", HEAD + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        killer = threading.Timer(60, process.kill)
        killer.start()
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line == "ready\n":
                process.send_signal(left.pop(0))
            else:
                lines.append(line.rstrip("\n"))
        error = process.stderr.read()
        killer.cancel()
    assert (process.returncode, error, left) == (0, "", [])
    return lines


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_ctrl_c_ends_a_wait_and_later_waits_work(wait):
    program = f"""
for _ in range(2):
    try:
        threading.Timer(0.2, say, ["ready"]).start()
        {wait}
    except KeyboardInterrupt:
        say("interrupted", engine.counters()["in_flight"] > 0)
let_go()
{wait}
say(a.asnumpy().tolist(), engine.counters()["in_flight"])
"""
    assert run(program, signal.SIGINT, signal.SIGINT) == [
        "interrupted True",
        "interrupted True",
        "[2.0, 2.0, 2.0] 0",
    ]


def test_a_wait_is_interrupted_promptly():
    program = """
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
try:
    threading.Timer(0.3, send).start()
    mx.nd.waitall()
except KeyboardInterrupt:
    took = time.monotonic() - sent[0]
let_go()
mx.nd.waitall()
say(took < 10 or took)
"""
    assert run(program) == ["True"]


def test_a_handler_that_returns_runs_during_the_wait_and_the_wait_goes_on():
    program = """
def handle(number, frame):
    say("handled")
    let_go()
signal.signal(signal.SIGUSR1, handle)
threading.Timer(0.2, say, ["ready"]).start()
say(a.asnumpy().tolist())
"""
    assert run(program, signal.SIGUSR1) == ["handled", "[2.0, 2.0, 2.0]"]


def test_a_handler_may_push_and_wait():
    program = """
b = mx.nd.zeros((2,))
def handle(number, frame):
    global b
    b = b + 5
    say(b.asnumpy().tolist())
    let_go()
signal.signal(signal.SIGUSR1, handle)
threading.Timer(0.2, say, ["ready"]).start()
mx.nd.waitall()
say(a.asnumpy().tolist())
"""
    assert run(program, signal.SIGUSR1) == ["[5.0, 5.0]", "[2.0, 2.0, 2.0]"]


def test_a_failure_survives_an_interrupted_wait():
    program = """
def fail():
    raise LookupError("mine")
let_go()
mx.nd.waitall()
hold()
engine.push(fail, const_vars=[var], mutable_vars=[a])
try:
    threading.Timer(0.2, say, ["ready"]).start()
    a.asnumpy()
except KeyboardInterrupt:
    say("interrupted")
let_go()
try:
    a.asnumpy()
except LookupError as e:
    say(e)
say(a.asnumpy().tolist())
"""
    assert run(program, signal.SIGINT) == ["interrupted", "mine", "[2.0, 2.0, 2.0]"]


def test_other_threads_sleep_on_while_the_main_thread_is_interrupted():
    program = """
seen = []
threads = [threading.Thread(target=lambda: seen.append(a.asnumpy().tolist())) for _ in range(3)]
for thread in threads:
    thread.start()
try:
    threading.Timer(0.2, say, ["ready"]).start()
    mx.nd.waitall()
except KeyboardInterrupt:
    say("interrupted", seen)
let_go()
for thread in threads:
    thread.join()
say(seen)
"""
    values = [[2.0, 2.0, 2.0]] * 3
    assert run(program, signal.SIGINT) == ["interrupted []", str(values)]


def test_the_child_of_a_fork_is_interruptible_too():
    # The thread that forks becomes the main thread of the child.
    program = """
let_go()
mx.nd.waitall()
def work():
    child = os.fork()
    if child:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return
    hold()
    code = 1
    try:
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        mx.nd.waitall()
    except KeyboardInterrupt:
        let_go()
        mx.nd.waitall()
        code = 7
    os._exit(code)
codes = []
import warnings
warnings.simplefilter("ignore")
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
say(codes)
"""
    assert run(program) == ["[7, 7]"]


def test_waiting_takes_no_processor_time():
    program = """
import resource
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
before = used()
threading.Timer(5, let_go).start()
mx.nd.waitall()
spent = used() - before
say(spent < 0.1 or spent)
"""
    assert run(program) == ["True"]
