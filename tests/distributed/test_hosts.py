"""Processes on three hosts, which are network namespaces of this machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import Hosts, hosts
from methods import METHODS, settings
from processes import left

pytestmark = pytest.mark.slow


@pytest.fixture
def three(tmp_path) -> Iterator[Hosts]:
    with hosts(tmp_path, 3) as made:
        if made is None:
            pytest.skip("needs the right to make network namespaces (ip netns, veth, bridge)")
        yield made


@pytest.mark.parametrize(
    "kind", ["dist_sync", pytest.param("dist_async", marks=pytest.mark.nightly)]
)
def test_every_method(three, kind, tmp_path):
    where = "import socket; say(socket.gethostname())\n"
    source = settings(kind, str(tmp_path / "states"), 300) + METHODS + where
    ended = three.run(3, source, timeout=240, MXNET_KVSTORE_BIGARRAY_BOUND="1000")
    assert ended.status == 0, ended.output
    assert ended.lines == {rank: ["done", three.name(rank + 1)] for rank in range(3)}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
def test_a_host_that_is_cut_off(three, kind, tmp_path):
    words, script = three.command(
        3,
        f"""
        import subprocess
        kv = mx.kv.create({kind!r})
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        kv.init([0, 1, 2], [mx.nd.zeros((300_000,))] * 3)
        out = mx.nd.zeros((300_000,))
        try:
            for step in range(100_000):
                if step == 10 and kv.rank == 0:
                    subprocess.run({three.unplug(3).split()}, check=True)
                for key in range(3):
                    kv.push(key, out)
                    kv.pull(key, out=out)
                    out.wait_to_read()
        except mx.base.MXNetError as error:
            with open({str(tmp_path)!r} + f"/{{kv.rank}}", "w") as written:
                written.write(str(error))
            raise
        """,
        FERROMIX_DIST_TIMEOUT="4",
    )
    # Open MPI's launcher waits for its daemon on that host longer than a test should; ours end.
    log = tmp_path / "log"
    with log.open("w") as written:
        launcher = subprocess.Popen(words, stdout=written, stderr=subprocess.STDOUT)
    said = [tmp_path / str(rank) for rank in range(3)]
    try:
        deadline = time.monotonic() + 60
        # That on the host which is cut off may also be ended by MPI's daemon there.
        while not all(path.exists() for path in said[:2]) or workers(script):
            assert time.monotonic() < deadline, (workers(script), log.read_text())
            assert launcher.poll() is None or said[0].exists(), log.read_text()
            time.sleep(0.05)
    finally:
        launcher.kill()
        launcher.wait()
    for rank in (0, 1):
        error = said[rank].read_text()
        assert "key " in error, error
        assert "no answer from rank 2" in error
    if said[2].exists():
        assert "no answer from rank 0, rank 1" in said[2].read_text()


def workers(script: str) -> list[str]:
    """The processes that run a script, without those that started them."""
    return [number for number in left(script) if "launch" not in command_of(number)]


def command_of(number: str) -> str:
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "launch"
    return "python" if words[0] == sys.executable.encode() else "launch"
