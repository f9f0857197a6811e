"""200 epochs leave memory, files and threads as they are; so do iterators that are left early."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

ROWS = 400
OBJECTS = Path(__file__).resolve().parents[1] / "golden" / "image_detection" / "det.rec"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endurance")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 100, (ROWS, 50))
    (folder / "d.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    svm = (" ".join(f"{j}:{row[j]}" for j in range(0, 50, 3)) for row in rows)
    (folder / "d.svm").write_text("".join(f"{i} {line}\n" for i, line in enumerate(svm)))
    mx.io.write_idx(folder / "images", rng.integers(0, 256, (ROWS, 28, 28), np.uint8))
    mx.io.write_idx(folder / "labels", np.arange(ROWS, dtype=np.int64).astype(np.uint8))
    return folder


def arrays(**args):
    values = np.arange(ROWS * 50, dtype=np.float32).reshape(ROWS, 50)
    return mx.io.NDArrayIter(values, values[:, 0], 64, **args)


def csr():
    values = mx.nd.array(np.eye(ROWS, 50)).tostype("csr")
    return mx.io.NDArrayIter(values, batch_size=64, shuffle=True)


def objects():
    """Few images with objects, shuffled, and changed in all ways at random."""
    return mx.io.ImageDetRecordIter(
        path_imgrec=OBJECTS,
        data_shape=(3, 16, 16),
        batch_size=2,
        shuffle=True,
        rand_mirror_prob=0.5,
        rand_pad_prob=0.5,
        max_pad_scale=2,
        rand_crop_prob=0.5,
        num_crop_sampler=1,
        min_crop_scales=0.5,
        max_crop_trials=5,
        random_hue_prob=0.5,
        max_random_hue=10,
        verbose=False,
    )


MAKERS = {
    "ImageDetRecordIter": lambda _: objects(),
    "NDArrayIter": lambda _: arrays(shuffle=True, last_batch_handle="roll_over"),
    "csr": lambda _: csr(),
    "CSVIter": lambda f: mx.io.CSVIter(data_csv=f / "d.csv", data_shape=(50,), batch_size=64),
    "LibSVMIter": lambda f: mx.io.LibSVMIter(
        data_libsvm=f / "d.svm", data_shape=(50,), batch_size=64
    ),
    "MNISTIter": lambda f: mx.io.MNISTIter(f / "images", f / "labels", 64, silent=True),
    "ResizeIter": lambda _: mx.io.ResizeIter(arrays(shuffle=True), 10),
    "PrefetchingIter": lambda _: mx.io.PrefetchingIter(
        [arrays(shuffle=True), arrays(data_name="d", label_name="l")]
    ),
}


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def used():
    """Threads and open files."""
    return (
        threading.active_count(),
        len(os.listdir("/proc/self/task")),
        len(os.listdir("/proc/self/fd")),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_epochs_leave_everything_as_it_is(folder, name):
    it = MAKERS[name](folder)
    for epoch in range(200):
        for batch in it:
            batch.data[0].wait_to_read()
        it.reset()
        if epoch == 20:
            gc.collect()
            mx.nd.waitall()
            before, held = resident(), used()
    gc.collect()
    mx.nd.waitall()
    assert used() == held
    assert resident() - before < 4 << 20


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_iterators_that_are_left_early_leave_nothing(folder, name):
    for count in range(200):
        it = MAKERS[name](folder)
        it.next()
        if name == "PrefetchingIter":
            it.close()
        del it
        if count == 20:
            gc.collect()
            before = resident()
    gc.collect()
    assert resident() - before < 8 << 20
    assert len(os.listdir("/proc/self/fd")) < 100
