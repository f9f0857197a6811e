"""Arrays on cpu_shared between real processes: no copy, writes seen by all, nothing left behind."""

from __future__ import annotations

import multiprocessing as mp
import os
import pickle
import signal
import time

import numpy as np
import pytest

import ferromix as mx

METHODS = ["fork", "forkserver", "spawn"]
PATIENCE = 60


def _names_in_shm() -> set[str]:
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def _shared(values) -> mx.nd.NDArray:
    return mx.nd.array(np.asarray(values, "float32"), ctx=mx.cpu_shared())


def _add_one(array, connection):
    array += 1
    array.wait_to_read()
    connection.send((str(array.context), array.asnumpy().tolist()))
    connection.recv()
    connection.send(array.asnumpy().tolist())


@pytest.mark.parametrize("method", METHODS)
def test_an_argument_of_a_process_is_the_same_memory(method):
    context = mp.get_context(method)
    array = _shared([1, 2, 3])
    ours, theirs = context.Pipe()
    process = context.Process(target=_add_one, args=(array, theirs))
    process.start()
    assert ours.recv() == ("cpu_shared(0)", [2, 3, 4])
    np.testing.assert_array_equal(array.asnumpy(), [2, 3, 4])
    array[1] = 50
    array.wait_to_read()
    ours.send("look")
    assert ours.recv() == [2, 50, 4]
    process.join(PATIENCE)
    assert process.exitcode == 0


def _load(queue, done, count):
    for i in range(count):
        batch = mx.nd.full((4, 1000), i, ctx=mx.cpu_shared())
        queue.put((i, batch, batch[1:3, ::2], mx.nd.full((2,), i)))
    done.wait(PATIENCE)


@pytest.mark.parametrize("method", METHODS)
def test_batches_of_a_worker_arrive_whole_though_it_drops_them(method):
    context = mp.get_context(method)
    queue, done = context.Queue(), context.Event()
    worker = context.Process(target=_load, args=(queue, done, 20))
    worker.start()
    batches = [queue.get(timeout=PATIENCE) for _ in range(20)]
    done.set()
    worker.join(PATIENCE)
    assert worker.exitcode == 0
    for i, batch, part, plain in batches:
        assert batch.context == part.context == mx.cpu_shared()
        np.testing.assert_array_equal(batch.asnumpy(), np.full((4, 1000), i))
        np.testing.assert_array_equal(part.asnumpy(), np.full((2, 500), i))
        # Other memory travels by value.
        assert plain.context == mx.cpu()
        np.testing.assert_array_equal(plain.asnumpy(), np.full(2, i))
    del batches, batch, part, plain
    mx.nd.waitall()


def _send_and_wait(connection):
    arrays = [mx.nd.full((1 << 20,), i, ctx=mx.cpu_shared()) for i in range(3)]
    for array in arrays:
        connection.send(array)
    connection.recv()
    time.sleep(PATIENCE)


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_process_leaves_its_arrays_to_others_and_no_names(method):
    before = _names_in_shm()
    context = mp.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=_send_and_wait, args=(theirs,))
    process.start()
    arrays = [ours.recv() for _ in range(3)]
    ours.send("received")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL
    for i, array in enumerate(arrays):
        np.testing.assert_array_equal(array.asnumpy(), np.full(1 << 20, i))
    left = {name for name in _names_in_shm() - before if "ferromix" in name or "psm" in name}
    assert left == set()


def _resident_shared() -> int:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("RssShmem"))
    return int(line.split()[1])


def test_memory_goes_with_the_last_array():
    mx.nd.waitall()
    mx.storage.release_all()
    before = _resident_shared()
    array = mx.nd.ones((16 << 20,), ctx=mx.cpu_shared())
    again = mx.nd.from_shared_mem(*array._to_shared_mem())
    again[0] = 5
    again.wait_to_read()
    assert array[0].asscalar() == 5
    assert _resident_shared() - before >= 64 << 10
    del array
    mx.nd.waitall()
    assert again[1].asscalar() == 1
    del again
    mx.nd.waitall()
    mx.storage.release_all()
    assert _resident_shared() - before < 8 << 10


def test_memory_that_somebody_has_is_not_used_again():
    array = mx.nd.full((1 << 18,), 1, ctx=mx.cpu_shared())
    view = mx.nd.from_shared_mem(*array._to_shared_mem())
    del array
    mx.nd.waitall()
    others = [mx.nd.full((1 << 18,), 2, ctx=mx.cpu_shared()) for _ in range(3)]
    np.testing.assert_array_equal(view.asnumpy(), np.ones(1 << 18))
    assert all(other.asnumpy().min() == 2 for other in others)


def _keep(array, connection):
    connection.recv()
    connection.send(bool((array.asnumpy() == 7).all()))


def test_a_forked_child_keeps_what_its_parent_drops():
    context = mp.get_context("fork")
    ours, theirs = context.Pipe()
    array = mx.nd.full((1 << 20,), 7, ctx=mx.cpu_shared())
    array.wait_to_read()
    process = context.Process(target=_keep, args=(array, theirs))
    process.start()
    # The process object keeps its arguments until it is started, and no longer.
    del array
    mx.nd.waitall()
    others = [mx.nd.full((1 << 20,), 8, ctx=mx.cpu_shared()) for _ in range(3)]
    assert all(other.asnumpy().min() == 8 for other in others)
    ours.send("look")
    assert ours.recv()
    process.join(PATIENCE)


def test_pickling_by_value_works_as_for_any_array():
    array = _shared([[1, 2], [3, 4]])
    copy = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(copy.asnumpy(), [[1, 2], [3, 4]])
    copy[0] = 0
    np.testing.assert_array_equal(array.asnumpy(), [[1, 2], [3, 4]])


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="copy the array to cpu_shared"):
        mx.nd.ones((3,))._to_shared_mem()
    with pytest.raises(ValueError, match="only a whole array"):
        _shared([1, 2, 3])[1:]._to_shared_mem()
    with pytest.raises(ValueError, match="cannot be reached"):
        mx.nd.from_shared_mem(os.getpid(), 10**6, (1,), "float32")
    pid, fd, _, _ = (array := _shared([1, 2, 3]))._to_shared_mem()
    with pytest.raises(ValueError, match="do not fit"):
        mx.nd.from_shared_mem(pid, fd, (10**6,), "float32")
    assert array.shape == (3,)
