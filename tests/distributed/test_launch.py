"""The launcher: what it makes of MXNet's options, and that it is MPI's launcher once it runs."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys

import pytest
from processes import left, mpiexec

from ferromix.launch import command, parser

ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []


def made(line: str) -> list[str]:
    return command(parser().parse_args(shlex.split(line)))


def test_a_command_for_one_machine():
    found = made("-n 2 -s 2 --env-worker A:1:2 --env B --p3 python train.py --epochs 3")
    start = [mpiexec(), "-n", "2", "--bind-to", "none", *ROOT]
    rest = ["-x", "A=1:2", "-x", "B", "python", "train.py", "--epochs", "3"]
    assert [word for word in found if word != "--oversubscribe"] == start + rest
    many = (os.cpu_count() or 1) + 1
    assert "--oversubscribe" in made(f"-n {many} python train.py")


def test_a_quoted_program_and_a_separator():
    assert made("-n 1 'python train.py --kv-store dist_sync'")[-1] == "dist_sync"
    assert made("-n 1 -- python train.py")[-2:] == ["python", "train.py"]


def test_hosts(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("one\ntwo slots=2\n")
    found = made(f"-n 3 -H {hosts} python train.py")
    assert found[found.index("--hostfile") + 1 :][:3] == [
        str(hosts),
        "--map-by",
        "node:OVERSUBSCRIBE",
    ]
    assert "--hostfile" not in made(f"-n 3 -H {hosts} --launcher local python train.py")


def test_slurm_and_fault_tolerance():
    assert made("-n 4 --launcher slurm python t.py") == [
        *("srun", "-n", "4", "--mpi=pmix", "python", "t.py")
    ]
    found = made("-n 2 --fault-tolerant python t.py")
    assert found[found.index("--with-ft") + 1] == "ulfm"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-n 0 python t.py", "-n must be at least 1, got 0"),
        ("-n 2", "which program"),
        ("-n 2 -H missing python t.py", "there is no host file missing"),
        ("-n 2 --env-worker A python t.py", "--env-worker takes NAME:VALUE, got 'A'"),
        ("-n 2 --launcher sge python t.py", "mpiexec -n 2 python t.py"),
        ("-n 2 --sync-dst-dir /x python t.py", "--sync-dst-dir is not supported"),
        ("-n 2 --launcher slurm --fault-tolerant python t.py", "needs Open MPI's mpiexec"),
    ],
)
def test_options_that_make_no_sense(line, words):
    with pytest.raises(SystemExit, match=words):
        made(line)


def test_it_names_the_rank_that_died():
    program = (
        "import os, time; os.environ['OMPI_COMM_WORLD_RANK'] == '1' and os.kill(os.getpid(), 9)"
    )
    words = [sys.executable, "-m", "ferromix.launch", "-n", "2"]
    # With output before it is killed, which must not get lost.
    ended = subprocess.run(
        [*words, sys.executable, "-c", f"print('here', flush=True); {program}; time.sleep(60)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode != 0
    assert ended.stdout.split() == ["here", "here"]
    assert "rank 1" in ended.stderr
    assert "signal 9" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(number, tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(
        "import ferromix as mx\nkv = mx.kv.create('dist_sync')\nkv.barrier()\n"
        "print('here', flush=True)\nif kv.rank == 0:\n    kv.barrier()\n"
        "import time\ntime.sleep(60)\n"
    )
    words = [sys.executable, "-m", "ferromix.launch", "-n", "2", sys.executable, str(script)]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert started.stdout is not None
    assert [started.stdout.readline() for _ in range(2)] == ["here\n", "here\n"]
    started.send_signal(number)
    started.communicate(timeout=60)
    assert started.returncode != 0
    assert not left(str(script))
