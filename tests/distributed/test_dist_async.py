"""The store `dist_async` in real processes: updates apply as they arrive, and none is lost."""

from __future__ import annotations

import time

import pytest
from processes import run, succeed

pytestmark = pytest.mark.slow

RANKS = [pytest.param(1, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.nightly), 3]

SUMS = """
kv = mx.kv.create("dist_async")
assert (kv.type, kv.rank < kv.num_workers) == ("dist_async", True)
W = kv.num_workers
shapes = [(3,), (2, 5), (0, 4), (), (5000, 7)]
keys = ["a", 1, "empty", "scalar", "big"]
kv.init(keys, [mx.nd.full(s, 7 * (kv.rank + 1)) for s in shapes])
"""


def pulled(condition):
    """Source that pulls until every value has what all processes pushed."""
    return f"""
def values():
    outs = [mx.nd.zeros(s) for s in shapes]
    kv.pull(keys, out=outs)
    return [o.asnumpy() for o in outs]
kv.barrier()
started = time.monotonic()
while not all({condition} for v in values()):
    assert time.monotonic() - started < 20, values()
"""


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("bound", ["1000", "1000000"])
def test_no_update_is_lost(ranks, bound):
    succeed(
        ranks,
        SUMS
        + """
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
for step in range(20):
    gradients = [mx.nd.full(s, kv.rank + 1) for s in shapes]
    kv.push(keys, gradients, priority=step)
    assert all((g.asnumpy() == kv.rank + 1).all() for g in gradients)
"""
        + pulled("(v == 7 - 20 * W * (W + 1) / 2).all()"),
        MXNET_KVSTORE_BIGARRAY_BOUND=bound,
    )


@pytest.mark.parametrize("bound", ["4", "1000000"])
def test_owners_answer_before_their_own_gradients_are_there(bound):
    # Each gradient needs the weights of the step before, of which each rank owns some: an owner
    # whose own gradient is pushed, but not computed yet, must not keep the others waiting.
    succeed(
        2,
        """
        kv = mx.kv.create("dist_async")
        keys, outs = list(range(6)), [mx.nd.zeros((50, 3)) for _ in range(6)]
        kv.init(keys, outs)
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
        for step in range(100):
            kv.pull(keys, out=outs)
            needs_all = mx.nd.add_n(*outs) * 0 + 1
            kv.push(keys, [needs_all] * 6)
        mx.nd.waitall()
        kv.barrier()
        kv.pull(keys, out=outs)
        for out in outs:
            assert (out.asnumpy() == -200).all(), out
        """,
        MXNET_KVSTORE_BIGARRAY_BOUND=bound,
    )


def test_a_pull_sees_the_push_before():
    succeed(
        3,
        """
kv = mx.kv.create("dist_async")
kv.init(list(range(6)), [mx.nd.zeros((4,))] * 6)
kv.set_updater(lambda key, received, stored: stored.__iadd__(received))
for key in range(6):
    for step in range(10):
        kv.push(key, mx.nd.ones((4,)))
        out = mx.nd.zeros((4,))
        kv.pull(key, out=out)
        assert out.asnumpy().min() >= step + 1
""",
    )


@pytest.mark.parametrize("kind", ["2bit", "fp16"])
def test_compressed_gradients(kind):
    succeed(
        3,
        SUMS
        + f"kv.set_gradient_compression({{'type': {kind!r}, 'threshold': 1}})\n"
        + """
kv.set_updater(lambda key, received, stored: stored.__iadd__(received))
for step in range(5):
    kv.push(keys, [mx.nd.full(s, 1) for s in shapes])
"""
        + pulled("(v == 7 + 5 * W).all()"),
    )


def test_row_sparse_values():
    succeed(
        3,
        """
kv = mx.kv.create("dist_async")
kv.init("rows", mx.nd.ones((9, 2)).tostype("row_sparse"))
kv.init("dense", mx.nd.ones((9, 2)))
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
gradient = mx.nd.sparse.row_sparse_array((np.ones((2, 2), "f"), [kv.rank, 5]), shape=(9, 2))
kv.push("rows", gradient)
kv.push("dense", gradient)
expected = np.ones((9, 2))
expected[:3] -= 1
expected[5] -= 3
kv.barrier()
started = time.monotonic()
while True:
    out = mx.nd.zeros((9, 2)).tostype("row_sparse")
    kv.row_sparse_pull("rows", out=out, row_ids=mx.nd.arange(9))
    other = mx.nd.zeros((9, 2))
    kv.pull("dense", out=other)
    if (out.asnumpy() == expected).all() and (other.asnumpy() == expected).all():
        break
    assert time.monotonic() - started < 20, (out.asnumpy(), other.asnumpy())
""",
    )


def test_states_are_saved_and_loaded(tmp_path):
    succeed(
        2,
        SUMS
        + f"path = {str(tmp_path / 'states')!r}\n"
        + """
kv.set_optimizer(mx.optimizer.SGD(learning_rate=1, momentum=0.5))
kv.push(keys, [mx.nd.ones(s) for s in shapes])
kv.barrier()
mx.nd.waitall()
kv.barrier()
kv.save_optimizer_states(path)
kv.load_optimizer_states(path)
kv.join()
""",
        MXNET_KVSTORE_BIGARRAY_BOUND="1000",
    )
    import pickle

    states = pickle.loads((tmp_path / "states").read_bytes())
    assert {key: state.shape for key, state in states.items()} == {
        "a": (3,),
        1: (2, 5),
        "empty": (0, 4),
        "scalar": (),
        "big": (5000, 7),
    }


def test_it_needs_an_updater():
    lines = succeed(
        2,
        """
kv = mx.kv.create("dist_async")
kv.init("w", mx.nd.ones((2,)))
try:
    kv.push("w", mx.nd.ones((2,)))
except mx.base.MXNetError as error:
    say(error)
""",
    )
    assert all("needs an updater; call set_optimizer" in found[0] for found in lines.values())


FAULT = """
kv = mx.kv.create("dist_async")
kv.init(list(range(4)), [mx.nd.zeros((3,))] * 4)
def updater(key, received, stored):
    if kv.rank == RAISING:
        raise ZeroDivisionError("in the updater")
    stored += received
kv.set_updater(updater)
out = mx.nd.zeros((3,))
try:
    for step in range(100_000):
        if step == 20 and kv.rank == 1 and STOPS:
            import subprocess
            subprocess.Popen(["sh", "-c", f"sleep 9; kill -CONT {os.getpid()}"])
            os.kill(os.getpid(), signal.SIGSTOP)
        for key in range(4):
            kv.push(key, mx.nd.ones((3,)))
            kv.pull(key, out=out)
            out.wait_to_read()
except (mx.base.MXNetError, ZeroDivisionError) as error:
    say(str(error).replace("\\n", " "))
    raise
"""


@pytest.mark.parametrize(
    ("raising", "stops", "words"),
    [(0, False, "in the updater"), (-1, True, "no answer from rank 1")],
    ids=["raises", "stops"],
)
def test_faults_end_all(raising, stops, words):
    started = time.monotonic()
    source = f"RAISING, STOPS = {raising}, {stops}\n{FAULT}"
    ended = run(3, source, timeout=60, FERROMIX_DIST_TIMEOUT="4")
    assert ended.status != 0
    assert time.monotonic() - started < 30
    assert words in ended.lines[2][-1], ended.output
    assert "key" in ended.lines[2][-1]
