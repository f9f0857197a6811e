"""Loaders with processes: the same batches, errors with names, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import select
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, MXNetError

pytestmark = pytest.mark.slow

data = mx.gluon.data


class Awkward(Exception):
    """One that cannot be unpickled."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Samples(data.Dataset):
    """Samples made by a method of the number, as `kind` says."""

    def __init__(self, count, kind, value=None):
        self.count, self.kind, self.value = count, kind, value

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return getattr(self, self.kind)(int(index))

    def pair(self, index):
        return mx.nd.full((3, 2), index), index

    def noise(self, index):
        return np.random.rand(), random.random(), mx.nd.random.uniform(shape=(1,)).asnumpy()

    def pid(self, index):
        return os.getpid()

    def broken(self, index):
        if index == 5:
            raise LookupError("broken")
        return index

    def awkward(self, index):
        raise Awkward("one", "two")

    def killed_once(self, index):
        """Ends its process at sample 3, if the file is there."""
        if index == 3 and os.path.exists(self.value):
            os.unlink(self.value)
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    def left(self, index):
        if index == 1:
            os._exit(7)
        return index

    def waits(self, index):
        if index == 2:
            threading.Event().wait()
        return index

    def big(self, index):
        return self.value[index]

    def unlucky(self, index):
        return lambda: index


def plain(batch):
    if isinstance(batch, mx.nd.NDArray):
        return batch.asnumpy().tolist()
    return [plain(member) for member in batch]


def batches(loader):
    return [plain(batch) for batch in loader]


def loader(kind, count=8, size=2, workers=2, value=None, **more):
    return data.DataLoader(
        Samples(count, kind, value), size, num_workers=workers, thread_pool=False, **more
    )


def nothing_is_left():
    gc.collect()
    threads = [t for t in threading.enumerate() if t.name.startswith("ferromix-worker")]
    for thread in threads:
        thread.join(60)
    return not multiprocessing.active_children() and not any(t.is_alive() for t in threads)


def descriptors():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the folder itself
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
    return found


def test_batches_are_the_same_for_any_number_of_processes():
    found = []
    for workers in (0, 1, 3):
        np.random.seed(5)
        made = loader("pair", 11, 3, workers, shuffle=True, last_batch="rollover")
        found.append([batches(made) for _ in range(3)])
        drawn = np.random.rand()
        found[-1].append(drawn)  # the generator is where it would be without workers
    assert found[0] == found[1] == found[2]
    x, y = next(iter(made))
    assert x.context == y.context == mx.cpu_shared(0)
    assert (x.dtype, y.dtype) == (np.float32, np.int64)
    y[:] = 3
    assert y.asnumpy().tolist() == [3, 3, 3]


def test_what_is_random_follows_from_seed_epoch_and_batch():
    found = []
    for workers in (1, 3):
        np.random.seed(5)
        made = loader("noise", workers=workers)
        found.append([batches(made) for _ in range(2)])
    first, second = found[0]
    assert found[0] == found[1]
    assert first != second
    assert len({str(batch) for batch in first + second}) == 8
    np.random.seed(6)
    assert batches(loader("noise")) != first


def test_processes_stay_for_the_next_epoch_and_end_with_the_loader():
    before = descriptors()
    made = loader("pid", 20, 1)
    pids = {pid for _ in range(2) for ((pid,),) in [batches(made)[:1]]}
    children = multiprocessing.active_children()
    assert len(children) == 2
    assert pids <= {child.pid for child in children}
    for batch in made:
        del batch  # it would be left
        break
    assert len(multiprocessing.active_children()) == 2
    del made
    assert nothing_is_left()
    made = loader("pid", 20, 1)
    iterator = iter(made)
    next(iterator)
    made.close()
    assert nothing_is_left()
    with pytest.raises(MXNetError, match="the workers were closed"):
        list(iterator)
    assert len(batches(made)) == 20  # with others
    del made, iterator
    assert nothing_is_left()
    # The first process of all starts the tracker of multiprocessing, which has a descriptor.
    assert len(descriptors() - before) <= 1


def test_a_loader_in_a_cycle_ends_with_it():
    made = loader("pid")
    made.me = made
    next(iter(made))
    del made
    assert nothing_is_left()


def test_an_error_is_raised_as_it_was_with_the_sample_and_the_process():
    made = loader("broken")
    for _ in range(2):
        iterator = iter(made)
        assert [plain(next(iterator)) for _ in range(2)] == [[0, 1], [2, 3]]
        with pytest.raises(LookupError, match="broken") as caught:
            next(iterator)
        sample, place = caught.value.__notes__
        assert sample == "DataLoader: raised for sample 5 of batch 2"
        assert place.startswith("In worker ")
        assert 'raise LookupError("broken")' in place
    with pytest.raises(MXNetError, match="Awkward: one and two") as caught:
        next(iter(loader("awkward")))
    assert "sample 0 of batch 0" in "".join(caught.value.__notes__)


def test_a_batch_that_cannot_be_pickled_is_an_error():
    with pytest.raises((AttributeError, TypeError, MXNetError), match=r"local|pickle"):
        next(iter(loader("unlucky", batchify_fn=list)))


def test_a_killed_process_is_named_and_the_next_epoch_has_others(tmp_path):
    flag = tmp_path / "flag"
    flag.touch()
    made = loader("killed_once", size=1, value=str(flag), prefetch=0)
    iterator = iter(made)
    assert [plain(next(iterator)) for _ in range(3)] == [[0], [1], [2]]
    with pytest.raises(
        MXNetError,
        match=r"worker \d \(process \d+\) was ended by signal 9 \(Killed\) while it had batch 3 "
        r"\(samples 3\)",
    ):
        next(iterator)
    assert batches(made) == [[i] for i in range(8)]
    with pytest.raises(MXNetError, match=r"ended with status 7 while it had batch 1"):
        list(loader("left", size=1))
    del made, iterator
    assert nothing_is_left()


def test_a_process_that_dies_between_epochs_is_replaced():
    made = loader("pid")
    batches(made)
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    assert len(batches(made)) == 4


def test_a_process_that_takes_too_long_is_named_and_ended():
    made = loader("waits", size=4, workers=1, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"no worker finished batch 0 \(samples 0, 1, 2, 3\)"):
        next(iter(made))
    del made
    assert nothing_is_left()


def test_large_arrays_of_the_data_set_are_shared():
    array = mx.nd.random.uniform(shape=(50, 1000))
    made = loader("big", 50, 10, value=array)
    np.testing.assert_array_equal(np.concatenate([b.asnumpy() for b in made]), array.asnumpy())


def test_many_arrays_are_more_than_files_may_be_open():
    arrays = [mx.nd.full((130, 130), i) for i in range(600)]
    made = loader("big", 600, 300, workers=1, value=arrays, batchify_fn=list)
    found = [array for batch in made for array in batch]
    assert [int(array.asnumpy()[0, 0]) for array in found] == list(range(600))


def test_what_cannot_be_pickled_is_refused():
    made = data.DataLoader(
        data.SimpleDataset([1]).transform(lambda x: x), 1, num_workers=1, thread_pool=False
    )
    with pytest.raises(ArgumentTypeError, match="no lambdas or inner ones, or threads"):
        next(iter(made))
    assert nothing_is_left()


def all_end(descriptors):
    """Whether the processes end, of which these are descriptors."""
    for descriptor in descriptors:
        if not select.select([descriptor], [], [], 60)[0]:
            return False
        os.close(descriptor)
    return True


SCRIPT = """
import multiprocessing, os, signal, sys
import ferromix as mx

class Samples:
    def __len__(self):
        return 100
    def __getitem__(self, index):
        if index == 10:
            open(sys.argv[1]).read()
        return mx.nd.full((200, 200), index)

def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    is_threads = sys.argv[2] == "threads"
    loader = mx.gluon.data.DataLoader(Samples(), 1, num_workers=2, thread_pool=is_threads)
    for batch in loader:
        pids = [child.pid for child in multiprocessing.active_children()]
        print(*pids, flush=True)

{start}
"""


@pytest.fixture
def script(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    def start(text, workers="processes"):
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(start=text))
        return subprocess.Popen(
            [sys.executable, str(path), str(tmp_path / "pipe"), workers],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return start


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_program(script, tmp_path, how):
    """A worker reads from a pipe that nobody writes to; Ctrl-C goes to the whole group."""
    with script('if __name__ == "__main__":\n    main()') as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        children = [os.pidfd_open(pid) for pid in pids]
        opened = os.open(tmp_path / "pipe", os.O_WRONLY)  # waits for the worker
        (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
        _, told = process.communicate(timeout=60)
    assert process.returncode == -how
    assert len(pids) == 2
    assert told.count("KeyboardInterrupt") == (1 if how == signal.SIGINT else 0)
    assert all_end(children), "a process was left"
    os.close(opened)
    ours = [name for name in os.listdir("/dev/shm") if "ferromix" in name]
    assert ours == []


def test_ctrl_c_ends_a_program_whose_thread_is_stuck(script, tmp_path):
    with script("main()", "threads") as process:
        opened = os.open(tmp_path / "pipe", os.O_WRONLY)  # waits for the worker
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    os.close(opened)
    assert process.returncode == -signal.SIGINT


def test_a_script_without_its_main_is_told_so(script):
    with script("main()") as process:
        _, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "before it was ready" in told
    assert 'needs `if __name__ == "__main__":`' in told
