"""What image iterators say of their progress, also while they run and to other threads."""

from __future__ import annotations

import threading
import types
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MAKERS = {
    "ImageRecordIter": GOLDEN / "image_records" / "png.rec",
    "ImageDetRecordIter": GOLDEN / "image_detection" / "det.rec",
}


def iterator(name, **options):
    settings = {"data_shape": (3, 16, 16), "batch_size": 2, "verbose": False, **options}
    return getattr(mx.io, name)(path_imgrec=str(MAKERS[name]), **settings)


@pytest.mark.parametrize("name", MAKERS)
def test_images_batches_and_times_are_counted(name):
    it = iterator(name, prefetch_buffer=1)
    nothing = dict.fromkeys(("images", "batches", "seconds", "images_per_second", "stalled"), 0)
    assert it.progress() == nothing
    taken = sum(1 for _ in it)
    found = it.progress()
    assert found["batches"] == taken == 3
    assert found["images"] == 6
    assert found["seconds"] > 0
    assert found["stalled"] > 0
    assert found["images_per_second"] == found["images"] / found["seconds"]
    assert it.progress() == found, "nothing is made, and nobody waits"


def test_stalled_is_the_time_of_all_waits(monkeypatch):
    clock = iter([100.0, 100.25, 200.0, 203.0, 300.0, 300.5]).__next__
    it = iterator("ImageRecordIter")
    with monkeypatch.context() as patched:
        patched.setattr("ferromix.io.image_feed.time", types.SimpleNamespace(perf_counter=clock))
        taken = sum(1 for _ in it)
    assert taken == 3
    assert it.progress()["stalled"] == 3.75


def test_other_threads_may_ask_while_batches_are_made():
    it = iterator("ImageRecordIter", prefetch_buffer=4)
    done, seen, failed = threading.Event(), [], []

    def watch():
        try:
            while not done.is_set():
                seen.append(it.progress())
        except Exception as error:
            failed.append(error)

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    for _ in range(30):
        for batch in it:
            batch.data[0].wait_to_read()
        it.reset()
    done.set()
    for watcher in watchers:
        watcher.join()
    assert not failed
    mx.nd.waitall()
    last = it.progress()
    for name in ("images", "batches", "seconds", "stalled"):
        assert max(found[name] for found in seen) <= last[name]
    assert last["images"] == 2 * last["batches"] >= 2 * 75


def test_damaged_images_are_counted_as_well(tmp_path):
    data = bytearray((GOLDEN / "image_records" / "png.rec").read_bytes())
    data[60:68] = b"\xff" * 8
    path = tmp_path / "some.rec"
    path.write_bytes(data)
    it = mx.io.ImageRecordIter(str(path), (3, 16, 16), 5, prefetch_buffer=0, verbose=False)
    with pytest.raises(mx.error.FileFormatError):
        it.next()
    assert it.progress()["images"] == 5
    assert np.isfinite(it.progress()["images_per_second"])
