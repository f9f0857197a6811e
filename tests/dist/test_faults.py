"""What goes wrong with processes: all others hear of it in time, with rank and key."""

from __future__ import annotations

import time

import pytest
from processes import run

LIMIT = 4


def fails(ranks, source, *words, limit=LIMIT, raising=None):
    """Runs what fails; each of `raising` must say one error that has all the words."""
    started = time.monotonic()
    ended = run(ranks, source, timeout=60, FERROMIX_DIST_TIMEOUT=str(limit))
    assert ended.status != 0, ended.output
    assert time.monotonic() - started < limit + 25, ended.output
    for rank in range(ranks) if raising is None else raising:
        assert ended.lines[rank], f"rank {rank} said nothing:\n{ended.output}"
        for word in words:
            assert word in ended.lines[rank][-1], (word, ended.output)


TRAIN = """
kv = mx.kv.create("dist_sync")
kv.init(["w", "v"], [mx.nd.zeros((3,)), mx.nd.zeros((400_000,))])
out = mx.nd.zeros((3,))

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


def test_a_rank_that_pushes_no_more_but_lives():
    source = """
    def go():
        step(0)
        if kv.rank == 1:
            time.sleep(LIMIT + 2)
        step(1)
    """.replace("LIMIT", str(LIMIT))
    fails(3, TRAIN + _same(source) + "say_error(go)", "key 'w'", "rank 1", raising=[0, 2])


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_rank_that_is_stopped(stopped):
    source = f"""
    import subprocess
    def go():
        step(0)
        if kv.rank == {stopped}:
            # Woken in the end, so that nothing is left behind.
            subprocess.Popen(["sh", "-c", f"sleep {LIMIT + 5}; kill -CONT {{os.getpid()}}"])
            os.kill(os.getpid(), signal.SIGSTOP)
        step(1)
    """
    others = [rank for rank in range(3) if rank != stopped]
    words = ("key '", f"no answer from rank {stopped}")
    fails(3, TRAIN + _same(source) + "say_error(go)", *words, raising=others)


@pytest.mark.parametrize("when", ["at start", "in a push", "at a barrier"])
@pytest.mark.parametrize("killed", [0, 1])
def test_a_rank_that_is_killed(killed, when):
    source = f"""
    if kv.rank == {killed} and "{when}" == "at start":
        os.kill(os.getpid(), signal.SIGKILL)
    step(0)
    if "{when}" == "at a barrier":
        if kv.rank == {killed}:
            os.kill(os.getpid(), signal.SIGKILL)
        kv.barrier()
    for i in range(100_000):
        if i == 5 and kv.rank == {killed}:
            kv.push("v", mx.nd.ones((400_000,)))
            os.kill(os.getpid(), signal.SIGKILL)
        step(i)
    """
    started = time.monotonic()
    ended = run(3, TRAIN + _same(source), timeout=60, FERROMIX_DIST_TIMEOUT=str(LIMIT))
    assert time.monotonic() - started < LIMIT + 20
    assert ended.status != 0
    # The launcher ends the others, and names the rank.
    assert f"rank {killed}" in ended.output or f",{killed}]" in ended.output, ended.output


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


def test_interruption_ends_all():
    source = """
    if kv.rank == 1:
        import threading
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        step(0)
        kv.barrier()
    """
    ended = run(2, TRAIN + _same(source), timeout=60, FERROMIX_DIST_TIMEOUT=str(LIMIT))
    assert ended.status != 0
    assert "KeyboardInterrupt" in ended.output


def test_wrong_settings_are_named():
    ended = run(1, 'mx.kv.create("dist_sync")', FERROMIX_DIST_TIMEOUT="soon")
    assert "FERROMIX_DIST_TIMEOUT must be a number of seconds above 0, got 'soon'" in ended.output


def _same(source: str) -> str:
    """Source without its indentation."""
    lines = source.split("\n")
    width = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[width:] for line in lines) + "\n"
