"""What goes wrong with processes: all others hear of it in time, with rank and key."""

from __future__ import annotations

import os
import time

import pytest
from processes import run, succeed

pytestmark = pytest.mark.slow

LIMIT = 4


def fails(ranks, source, *words, limit=LIMIT, raising=None):
    """Runs what fails; each of `raising` must say one error that has all the words."""
    started = time.monotonic()
    ended = run(ranks, source, timeout=60, FERROMIX_DIST_TIMEOUT=str(limit))
    assert ended.status != 0, ended.output
    assert time.monotonic() - started < limit + 25, ended.output
    nothing_shared(ended)
    for rank in range(ranks) if raising is None else raising:
        assert ended.lines[rank], f"rank {rank} said nothing:\n{ended.output}"
        for word in words:
            assert word in ended.lines[rank][-1], (word, ended.output)


def nothing_shared(ended):
    """What the processes shared in /dev/shm is not there any more."""
    lines = [line.split()[1:] for found in ended.lines.values() for line in found[:1]]
    assert lines
    left = [name for names in lines for name in names if os.path.exists(name)]
    assert not left, (left, ended.output)


TRAIN = """
kv = mx.kv.create("dist_sync")
kv.init(["w", "v"], [mx.nd.zeros((3,)), mx.nd.zeros((400_000,))])
out = mx.nd.zeros((3,))

# The memory that the processes of a machine share, which must be gone with them.
segments = [line.split()[-1] for line in open("/proc/self/maps") if "/dev/shm/" in line]
say("segments", *set(segments))
kv.barrier()

def step(i):
    kv.push("w", mx.nd.ones((3,)))
    kv.push("v", mx.nd.ones((400_000,)))
    kv.pull("w", out=out)
    out.wait_to_read()

def say_error(do, *args):
    try:
        do(*args)
        mx.nd.waitall()
    except mx.base.MXNetError as error:
        say(str(error).replace("\\n", " "))
        raise
"""


def test_a_rank_with_another_shape():
    source = """
    kv = mx.kv.create("dist_sync")
    def go():
        kv.init("w", mx.nd.zeros((3 + kv.rank,)))
        out = mx.nd.zeros((3 + kv.rank,))
        kv.pull("w", out=out)
        out.wait_to_read()
    """
    fails(
        2,
        TRAIN + _same(source) + "say_error(go)",
        "key 'w'",
        "rank 1",
        "does not match",
        raising=[1],
    )


def test_a_rank_with_another_key():
    source = """
    def go():
        kv.init("only here" if kv.rank else "only there", mx.nd.zeros((2,)))
        kv.push("only here" if kv.rank else "only there", mx.nd.zeros((2,)))
        kv.barrier()
    """
    fails(2, TRAIN + _same(source) + "say_error(go)", "rank", "only")


def test_a_rank_with_gradients_of_another_storage_type():
    source = """
    def go():
        kv.init("e", mx.nd.zeros((2, 2)))
        rows = mx.nd.sparse.row_sparse_array(([[1.0, 1.0]], [0]), shape=(2, 2))
        kv.push("e", rows if kv.rank == 1 else mx.nd.ones((2, 2)))
    """
    fails(2, TRAIN + _same(source) + "say_error(go)", "key 'e'", "rank 1", "row_sparse", limit=30)


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
def test_ranks_with_other_compressions(kind):
    source = f"""
    kv = mx.kv.create({kind!r})
    say([])
    other_threshold = {{"type": "2bit", "threshold": 0.5 + kv.rank}}
    other_kind = {{"type": ["1bit", "fp16"][kv.rank]}}
    for mine in (other_threshold, other_kind):
        try:
            kv.set_gradient_compression(mine)
        except mx.base.MXNetError as error:
            say(error)
    kv.barrier()
    kv.set_gradient_compression({{"type": "fp16"}})
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    kv.init("w", mx.nd.zeros((5,)))
    kv.push("w", mx.nd.ones((5,)))
    mx.nd.waitall()
    kv.barrier()
    out = mx.nd.zeros((5,))
    kv.pull("w", out=out)
    say(out.asnumpy().tolist())
    """
    for rank, lines in succeed(2, source).items():
        assert "('2bit', 0.5)" in lines[1]
        assert f"on rank {1 - rank}" in lines[1]
        assert "fp16" in lines[2]
        assert lines[3] == "[-2.0, -2.0, -2.0, -2.0, -2.0]"


def test_a_rank_that_pushes_no_more_but_lives():
    source = """
    def go():
        step(0)
        if kv.rank == 1:
            time.sleep(LIMIT + 2)
        step(1)
    """.replace("LIMIT", str(LIMIT))
    fails(3, TRAIN + _same(source) + "say_error(go)", "key 'w'", "rank 1", raising=[0, 2])


@pytest.mark.parametrize(
    ("stopped", "wakes"),
    [
        (1, False),
        pytest.param(0, True, marks=pytest.mark.nightly),
        pytest.param(1, True, marks=pytest.mark.nightly),
    ],
)
def test_a_rank_that_is_stopped(stopped, wakes):
    source = f"""
    import subprocess
    def go():
        step(0)
        if kv.rank == {stopped}:
            if {wakes}:
                subprocess.Popen(["sh", "-c", f"sleep {LIMIT + 3}; kill -CONT {{os.getpid()}}"])
            os.kill(os.getpid(), signal.SIGSTOP)
        step(1)
    """
    others = [rank for rank in range(3) if rank != stopped]
    words = ("key '", f"no answer from rank {stopped}")
    fails(3, TRAIN + _same(source) + "say_error(go)", *words, raising=others)


@pytest.mark.parametrize(
    ("killed", "when"),
    [
        (0, "at start"),
        (1, "in a push"),
        pytest.param(0, "in a pull", marks=pytest.mark.nightly),
        pytest.param(1, "at a barrier", marks=pytest.mark.nightly),
        pytest.param(1, "at start", marks=pytest.mark.nightly),
        pytest.param(0, "in a push", marks=pytest.mark.nightly),
        pytest.param(1, "in a pull", marks=pytest.mark.nightly),
        pytest.param(0, "at a barrier", marks=pytest.mark.nightly),
    ],
)
def test_a_rank_that_is_killed(killed, when):
    start = f"""
    def die():
        if os.environ["OMPI_COMM_WORLD_RANK"] == "{killed}":
            os.kill(os.getpid(), signal.SIGKILL)
    if "{when}" == "at start":
        die()
    """
    source = f"""
    step(0)
    if "{when}" == "at a barrier":
        die()
        kv.barrier()
    for i in range(100_000):
        if i == 5 and "{when}" == "in a push":
            kv.push("v", mx.nd.ones((400_000,)))
            die()
        if i == 5 and "{when}" == "in a pull":
            kv.push("v", mx.nd.ones((400_000,)))
            kv.pull("v", out=mx.nd.zeros((400_000,)))
            die()
        step(i)
    """
    source = _same(start) + TRAIN + _same(source)
    started = time.monotonic()
    ended = run(3, source, timeout=60, FERROMIX_DIST_TIMEOUT=str(LIMIT))
    assert time.monotonic() - started < LIMIT + 20
    assert ended.status != 0
    # The launcher ends the others, and names the rank.
    assert f"rank {killed}" in ended.output or f",{killed}]" in ended.output, ended.output
    if when != "at start":
        nothing_shared(ended)


def test_a_rank_that_raises():
    source = """
    def go():
        step(0)
        if kv.rank == 1:
            raise ValueError("a fault of the user's")
        step(1)
    """
    words = ("rank 1 ended with ValueError: a fault of the user's",)
    fails(2, TRAIN + _same(source) + "say_error(go)", *words, raising=[0])


def test_a_rank_that_ends_early():
    source = """
    def go():
        step(0)
        if kv.rank == 1:
            sys.exit()
        step(1)
    """
    fails(2, TRAIN + _same(source) + "say_error(go)", "rank 1 ended", raising=[0])


def test_a_rank_that_ends_before_what_is_slow_elsewhere():
    # Rank 0 comes to 'w' again before 'v', which rank 1 has left to be done as it ends.
    source = """
        def go():
            late = mx.nd.ones((400_000,))
            if kv.rank == 0:
                mx.engine.push(lambda: time.sleep(2), mutable_vars=[late])
            kv.push("v", late)
            if kv.rank == 1:
                sys.exit()
            step(1)
        """
    fails(2, TRAIN + _same(source) + "say_error(go)", "rank 1 ended before key 'w'", raising=[0])


def test_an_updater_that_raises():
    source = """
    def updater(key, received, stored):
        if kv.rank == 0:
            raise ZeroDivisionError("in the updater")
    def go():
        kv.set_updater(updater)
        step(0)
        kv.barrier()
    """
    fails(2, TRAIN + _same(source) + "say_error(go)", "key '", "in the updater", raising=[1])


def test_a_gradient_that_fails():
    source = """
    def go():
        bad = mx.nd.ones((3,))
        if kv.rank == 1:
            def fault():
                raise ZeroDivisionError("in a gradient")
            mx.engine.push(fault, mutable_vars=[bad])
        kv.push("w", bad)
        kv.pull("w", out=out)
        out.wait_to_read()
    """
    words = ("on rank 1", "key 'w'", "failed")
    fails(2, TRAIN + _same(source) + "say_error(go)", *words, raising=[0])


METHODS = {
    "init": "kv.init('x', mx.nd.ones((2,))); kv.pull('x', out=out); out.wait_to_read()",
    "broadcast": "kv.broadcast('x', mx.nd.ones((2,)), out=out); out.wait_to_read()",
    "push": "kv.push('rows', rows); kv.push('w', mx.nd.ones((2,))); mx.nd.waitall()",
    "pull": "kv.push('w', mx.nd.ones((2,))); kv.pull('w', out=out); print(out.asnumpy())",
    "pushpull": "kv.pushpull('w', mx.nd.ones((2,)), out=out); out.wait_to_read()",
    "row_sparse_pull": "kv.push('rows', rows); kv.row_sparse_pull('rows', out=rows, row_ids=out)",
    "barrier": "kv.barrier()",
    "set_optimizer": "kv.set_optimizer(mx.optimizer.SGD())",
    "set_gradient_compression": "kv.set_gradient_compression({'type': '2bit'}); kv.barrier()",
    "save_optimizer_states": "kv.save_optimizer_states(os.devnull)",
    "load_optimizer_states": "kv.load_optimizer_states(os.devnull)",
    "join": "kv.join()",
}
FEW = [("dist_sync", "pull"), ("dist_sync", "barrier"), ("dist_async", "set_optimizer")]


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        pytest.param(kind, name, marks=[] if (kind, name) in FEW else pytest.mark.nightly)
        for kind in ("dist_sync", "dist_async")
        for name in METHODS
    ],
)
def test_interruption_ends_all(kind, method):
    # In dist_async pushes and pulls end by themselves; there they go on until the interruption.
    source = f"""
    import threading
    kv = mx.kv.create({kind!r})
    kv.set_optimizer(mx.optimizer.SGD())
    kv.init("w", mx.nd.zeros((2,)))
    rows = mx.nd.zeros((2, 2)).tostype("row_sparse")
    kv.init("rows", rows)
    out = mx.nd.zeros((2,))
    if kv.rank == 0:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        {METHODS[method]}
        while True:
            kv.push("w", mx.nd.ones((2,)))
            kv.pull("w", out=out)
            out.wait_to_read()
    try:
        kv.init("never", rows)
    except mx.base.MXNetError as error:
        say(str(error).replace("\\n", " "))
        raise
    """
    ended = run(2, _same(source), timeout=60, FERROMIX_DIST_TIMEOUT="30")
    assert ended.status != 0
    assert "KeyboardInterrupt" in ended.output
    assert "rank 0 ended with KeyboardInterrupt" in ended.lines[1][-1], ended.output


def test_wrong_settings_are_named():
    ended = run(1, 'mx.kv.create("dist_sync")', FERROMIX_DIST_TIMEOUT="soon")
    assert "FERROMIX_DIST_TIMEOUT must be a number of seconds above 0, got 'soon'" in ended.output


def _same(source: str) -> str:
    """Source without its indentation."""
    lines = source.split("\n")
    width = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[width:] for line in lines) + "\n"
