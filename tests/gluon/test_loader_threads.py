"""Loaders without workers and with threads: order, errors, ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError

data = mx.gluon.data


class Samples(data.Dataset):
    """Samples made by a function of the number."""

    def __init__(self, count, make):
        self.count, self.make = count, make

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.make(index)


class Drawn(data.Sampler):
    """Counts the indices that were drawn; after some, it fails."""

    def __init__(self, count, fails_at=None):
        self.count, self.fails_at, self.drawn = count, fails_at, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        for index in range(self.count):
            if index == self.fails_at:
                raise KeyError("no more")
            self.drawn += 1
            yield index


def values(batches):
    return [batch.asnumpy().tolist() for batch in batches]


def workers():
    return [t for t in threading.enumerate() if t.name.startswith("ferromix-worker")]


def ends_in_time(threads):
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def test_workers_are_threads_that_run_at_once():
    """Two samples wait for each other."""
    barrier = threading.Barrier(2)
    names = []

    def make(index):
        barrier.wait(60)
        names.append(threading.current_thread().name)
        return index

    loader = data.DataLoader(Samples(4, make), 1, num_workers=2)
    assert values(loader) == [[0], [1], [2], [3]]
    assert set(names) == {"ferromix-worker-0", "ferromix-worker-1"}
    assert not multiprocessing.active_children()


def test_batches_come_in_order_though_later_ones_are_ready_first():
    later = threading.Event()

    def make(index):
        if index == 0:
            assert later.wait(60)
        if index == 3:
            later.set()
        return index

    assert values(data.DataLoader(Samples(6, make), 1, num_workers=2)) == [[i] for i in range(6)]


@pytest.mark.parametrize("prefetch", [0, 1, 5, 100])
def test_so_many_batches_are_fetched_ahead(prefetch):
    sampler = Drawn(20)
    loader = data.DataLoader(list(range(20)), 2, sampler=sampler, num_workers=2, prefetch=prefetch)
    assert sampler.drawn == 0
    batches = iter(loader)
    assert sampler.drawn == 0
    next(batches)
    assert sampler.drawn == min(20, 2 * (prefetch + 1))
    next(batches)
    assert sampler.drawn == min(20, 2 * (prefetch + 2))
    assert len(list(batches)) == 8


def test_auto_reload_begins_the_next_epoch():
    sampler = Drawn(4)
    loader = data.DataLoader(
        list(range(4)), 1, sampler=sampler, num_workers=1, prefetch=2, auto_reload=True
    )
    assert sampler.drawn == 2
    assert values(loader) == [[0], [1], [2], [3]]
    assert sampler.drawn == 6
    loader.clean()
    assert loader._iter is None
    loader.refresh()
    assert sampler.drawn == 8
    for _ in loader:
        break
    assert loader._iter is None  # only a whole epoch begins the next


def test_iterators_of_one_loader_do_not_disturb_each_other():
    loader = data.DataLoader(list(range(6)), 2, num_workers=2)
    first, second = iter(loader), iter(loader)
    pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in zip(first, second)]
    assert pairs == [([0, 1],) * 2, ([2, 3],) * 2, ([4, 5],) * 2]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_error_of_a_sample_is_raised_in_its_place_and_names_it(count):
    def make(index):
        if index == 5:
            raise LookupError("broken")
        return index

    loader = data.DataLoader(Samples(8, make), 2, num_workers=count)
    for _ in range(2):
        batches = iter(loader)
        assert next(batches).asnumpy().tolist() == [0, 1]
        assert next(batches).asnumpy().tolist() == [2, 3]
        with pytest.raises(LookupError, match="broken") as caught:
            next(batches)
        assert caught.value.__notes__ == ["DataLoader: raised for sample 5 of batch 2"]
        assert list(batches) == []


@pytest.mark.parametrize("count", [0, 2])
def test_an_error_of_batchify_fn_names_the_batch(count):
    def fail(samples):
        raise ZeroDivisionError

    loader = data.DataLoader(list(range(30)), 10, batchify_fn=fail, num_workers=count)
    with pytest.raises(ZeroDivisionError) as caught:
        next(iter(loader))
    note = "batchify_fn of batch 0 (samples 0, 1, 2, 3, 4, 5, 6, 7, ...)"
    assert caught.value.__notes__ == [f"DataLoader: raised for {note}"]


@pytest.mark.parametrize("count", [0, 2])
def test_a_sample_that_raises_stop_iteration_does_not_end_the_epoch(count):
    loader = data.DataLoader(Samples(3, lambda index: next(iter(()))), 1, num_workers=count)
    with pytest.raises(MXNetError, match="StopIteration was raised"):
        list(loader)


@pytest.mark.parametrize("count", [0, 2])
def test_an_error_of_the_sampler_comes_after_the_batches_before(count):
    sampler = Drawn(9, fails_at=5)
    loader = data.DataLoader(list(range(9)), 2, sampler=sampler, num_workers=count)
    batches = iter(loader)
    assert [next(batches).asnumpy().tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(KeyError, match="no more"):
        next(batches)


def test_a_worker_that_takes_too_long_is_an_error_that_names_the_batch():
    release = threading.Event()
    loader = data.DataLoader(
        Samples(4, lambda index: release.wait(60) if index == 1 else index),
        2,
        num_workers=2,
        timeout=0.05,
    )
    with pytest.raises(TimeoutError, match=r"batch 0 \(samples 0, 1\) within 0.05 s") as caught:
        next(iter(loader))
    threads = workers()
    assert len(threads) >= 1
    assert isinstance(caught.value, (MXNetError, multiprocessing.TimeoutError))
    release.set()
    assert ends_in_time(threads)


def test_a_timeout_that_a_sample_raises_is_its_own():
    def make(index):
        raise TimeoutError("of the sample")

    with pytest.raises(TimeoutError, match="of the sample"):
        next(iter(data.DataLoader(Samples(2, make), 1, num_workers=1)))


def test_threads_end_with_the_epoch_however_it_ends():
    def make(index):
        if index == 5:
            raise LookupError
        return index

    loader = data.DataLoader(Samples(8, make), 1, num_workers=3)
    for _ in loader:
        threads = workers()
        break
    assert len(threads) >= 3
    assert ends_in_time(threads)
    with pytest.raises(LookupError):
        list(loader)
    assert ends_in_time(workers())
    batches = iter(data.DataLoader(list(range(8)), 1, num_workers=3))
    next(batches)
    threads = workers()
    del batches
    gc.collect()
    assert ends_in_time(threads)


def test_records_may_be_read_by_many_threads(tmp_path):
    path = tmp_path / "some"
    with mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w") as record:
        for key in range(500):
            record.write_idx(3 * key, b"%d," % key * (key % 7 + 1))
    records = data.RecordFileDataset(f"{path}.rec")
    loader = data.DataLoader(records, 5, num_workers=8, batchify_fn=b"".join, shuffle=True)
    np.random.seed(3)
    order = np.random.permutation(500)
    np.random.seed(3)
    assert b"".join(loader) == b"".join(b"%d," % key * (key % 7 + 1) for key in order)


def test_a_data_set_of_records_lives_in_a_fork(tmp_path):
    path = tmp_path / "some"
    with mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w") as record:
        record.write_idx(0, b"first")
    records = data.RecordFileDataset(f"{path}.rec")
    with records._lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pid = os.fork()
        if pid == 0:
            os._exit(0 if records[0] == b"first" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_threads_have_the_shapes_of_who_iterates():
    def make(index):
        return mx.is_np_shape()

    with mx.np_shape(True):
        loader = data.DataLoader(Samples(2, make), 2, num_workers=1, batchify_fn=list)
        assert next(iter(loader)) == [True, True]
    loader = data.DataLoader(Samples(2, make), 2, num_workers=1, batchify_fn=list)
    assert next(iter(loader)) == [False, False]


@pytest.mark.parametrize("count", [0, 1])
def test_batches_go_to_pinned_memory(count):
    pairs = data.ArrayDataset(mx.nd.ones((3, 2)), [1, 2, 3])
    loader = data.DataLoader(pairs, 3, num_workers=count, pin_memory=True, pin_device_id=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a system that locks no memory
        ((x, y),) = list(loader)
    assert x.context == y.context == mx.cpu_pinned(1)
    np.testing.assert_array_equal(y.asnumpy(), [1, 2, 3])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([np.ones(2), np.ones(3)], r"ndarray\(2,\), ndarray\(3,\)"),
        ([mx.nd.ones(2), mx.nd.ones(3)], r"NDArray\(2,\), NDArray\(3,\)"),
        ([(1, 2), (3,)], "not all are tuples of as many members"),
        ([(1, 2), 3], "not all are tuples of as many members"),
        (["a", "b"], "give batchify_fn"),
        ([None, None], "give batchify_fn"),
        ([[1], [1, 2]], "give batchify_fn"),
    ],
)
def test_samples_that_do_not_fit_together_are_refused(samples, message):
    with pytest.raises(InvalidArgumentError, match=message):
        list(data.DataLoader(samples, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "batch_size must be given"),
        ({"batch_size": 0}, "batch_size must be an int >= 1, got 0"),
        ({"batch_size": 1.5}, "batch_size must be an int >= 1, got 1.5"),
        ({"batch_size": 1, "last_batch": "drop"}, "must be one of keep, discard, rollover"),
        ({"batch_size": 1, "sampler": [0], "shuffle": True}, "leave shuffle out"),
        ({"batch_size": 1, "batch_sampler": [[0]]}, "give it alone"),
        ({"batch_sampler": [[0]], "last_batch": "keep"}, "give it alone"),
        ({"batch_size": 1, "timeout": 0}, "timeout must be above 0"),
        ({"batch_size": 1, "num_workers": "two"}, "num_workers must be an int"),
        ({"batch_size": 1, "sampler": 3}, "sampler must be a sampler"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        data.DataLoader([1, 2, 3], **arguments)


def test_wrong_arguments_of_data_sets_are_refused():
    some = data.SimpleDataset([1, 2, 3])
    for call, message in (
        (lambda: some.shard(0, 0), "num_shards must be an int >= 1"),
        (lambda: some.shard(2, 2), "index must be an int of 0 to 1, got 2"),
        (lambda: some.shard(2, -1), "index must be an int of 0 to 1, got -1"),
        (lambda: some.take(-1), "count must be an int >= 0"),
        (lambda: data.ArrayDataset(), "one array or more"),
        (lambda: data.ArrayDataset([1], [1, 2]), r"same length, got \[1, 2\]"),
        (lambda: data.RandomSampler(-1), "length must be an int >= 0"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            call()
    with pytest.raises(ArgumentTypeError, match=r"sampler must be a gluon.data.Sampler"):
        some.sample([0, 1])
    for method in (len, iter, lambda sampler: sampler[0]):
        with pytest.raises(MXNetError, match="must have __"):
            method(data.Dataset() if method is not iter else data.Sampler())
