"""The first calls of a process, from several threads at once."""

import subprocess
import sys

import pytest

# The first line of the user's that a push remembers makes names of the interpreter's, during which
# another thread may run.
FIRST_CALLS = """
import threading
import numpy as np
import ferromix as mx

gate = threading.Barrier(8)
wrong = []

def use(number):
    gate.wait()
    for i in range(20):
        x = mx.nd.array(np.full(3, number)) + i
        if x.asnumpy().tolist() != [number + i] * 3:
            wrong.append((number, i))

threads = [threading.Thread(target=use, args=(number,), daemon=True) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
"""


@pytest.mark.parametrize("process", range(6))
def test_the_first_calls_may_come_from_threads(process):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"process {process}: {done.stderr}"
