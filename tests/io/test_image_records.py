"""ImageRecordIter: MXNet's batches, and orders, states, errors and memory of its own."""

from __future__ import annotations

import gc
import json
import os
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "image_records"
CASES = json.loads((GOLDEN / "cases.json").read_text())
BATCHES = np.load(GOLDEN / "batches.npz")
SMALL = {"data_shape": (3, 16, 16), "batch_size": 2, "verbose": False}
MOST = {"png": 1, "jpeg444": 3, "jpeg420": 8}
"""How far a byte may be from MXNet's: decoders of JPEG round differently."""


def iterator(kind="png", **options):
    made = getattr(mx.io, options.pop("iterator", "ImageRecordIter"))
    for name, ending in (("path_imgidx", "idx"), ("path_imglist", "lst")):
        if options.get(name) is True:
            options[name] = str(GOLDEN / f"{kind}.{ending}")
    return made(path_imgrec=str(GOLDEN / f"{kind}.rec"), **{**SMALL, **options})


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}-{'-'.join(CASES[i][1])}"
)
def test_batches_are_those_of_mxnet(number):
    kind, options, pads = CASES[number]
    it = iterator(kind, **options)
    expected = [
        (BATCHES[f"{number} {i} data"], BATCHES[f"{number} {i} label"]) for i in range(len(pads))
    ]
    found = [*it]
    it.reset()
    found += [*it]
    assert len(found) == len(expected)
    for batch, (data, label), pad in zip(found, expected, pads, strict=True):
        kept = it.batch_size - batch.pad
        if options.get("round_batch", True):
            assert batch.pad == pad
        assert batch.data[0].asnumpy().dtype == data.dtype
        np.testing.assert_array_equal(batch.label[0].asnumpy()[:kept], label[:kept])
        # Behind what is kept MXNet has whatever was there.
        data = data[:kept].astype(float)
        difference = np.abs(batch.data[0].asnumpy()[:kept].astype(float) - data)
        scale = options.get("scale", 1)
        assert difference.max(initial=0) <= MOST[kind] * scale
        assert difference.mean() <= scale * (0.05 if kind == "png" else 1)


def labels(it):
    return [b.label[0].asnumpy()[: it.batch_size - b.pad].astype(int).tolist() for b in it]


def test_orders_follow_from_the_seed_and_the_epoch():
    def epochs(**options):
        it = iterator(shuffle=True, round_batch=False, **options)
        found = []
        for _ in range(3):
            found.append([*chain(*labels(it))])
            it.reset()
        return found

    first = epochs(seed=3)
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in first)
    assert len({tuple(order) for order in first}) > 1
    assert epochs(seed="3") == first
    assert epochs(seed=4) != first


RANDOM = {
    "rand_crop": True,
    "rand_mirror": True,
    "brightness": 0.2,
    "contrast": 0.2,
    "saturation": 0.2,
    "pca_noise": 2,
    "max_random_contrast": 0.3,
    "max_random_illumination": 5,
    "shuffle": True,
}


def pictures(epochs=2, **options):
    it = iterator(**options)
    found = []
    for _ in range(epochs):
        found += [batch.data[0].asnumpy() for batch in it]
        it.reset()
    return found


@pytest.mark.parametrize(
    "options",
    [
        RANDOM,
        {**RANDOM, "resize": 17, "inter_method": 10},
        {"random_resized_crop": True, "min_random_area": 0.2, "max_aspect_ratio": 0.3},
        {"min_crop_size": 5, "max_crop_size": 14},
    ],
    ids=["colors", "resized", "areas", "squares"],
)
def test_what_is_drawn_does_not_depend_on_threads(options):
    before = mx.engine.num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            mx.engine.set_num_threads_per_worker(threads)
            found.append(pictures(seed=7, **options))
    finally:
        mx.engine.set_num_threads_per_worker(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(pictures(seed=7, seed_aug=8, **options), found[0])


def test_a_random_part_is_a_part():
    image = mx.image.imdecode(
        mx.recordio.unpack(next(iter(records("png"))))[1], to_rgb=True
    ).asnumpy()
    seen = set()
    it = iterator(rand_crop=True, num_parts=3, batch_size=1, path_imgidx=True, round_batch=False)
    for _ in range(30):
        part = it.next().data[0].asnumpy()[0].transpose(1, 2, 0)
        places = [
            (y, x)
            for y in range(5)
            for x in range(9)
            if (image[y : y + 16, x : x + 16] == part).all()
        ]
        assert len(places) == 1
        seen.add(places[0])
        it.reset()
    assert len(seen) > 8


def records(kind):
    reader = mx.recordio.MXRecordIO(str(GOLDEN / f"{kind}.rec"), "r")
    while (record := reader.read()) is not None:
        yield record


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
@pytest.mark.parametrize("path_imgidx", [True, False])
def test_parts_are_the_whole(parts, path_imgidx):
    options = {"round_batch": False, "num_parts": parts, "batch_size": 1}
    if path_imgidx:
        options["path_imgidx"] = True
    found = [labels(iterator(part_index=part, **options)) for part in range(parts)]
    assert [*chain(*chain(*found))] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("round_batch", [True, False])
@pytest.mark.parametrize("taken", range(9))
def test_a_saved_state_goes_on_in_the_middle_of_an_epoch(taken, round_batch):
    options = {**RANDOM, "seed": 5, "round_batch": round_batch}

    def go(it, count):
        found = []
        while len(found) < count:
            try:
                found.append(it.next().data[0].asnumpy())
            except StopIteration:
                it.reset()
        return found

    first = iterator(**options)
    go(first, taken)
    state = json.loads(json.dumps(first.state_dict()))
    second = iterator(**options)
    second.load_state_dict(state)
    np.testing.assert_array_equal(go(second, 7), go(first, 7))
    with pytest.raises(InvalidArgumentError, match="batch_size"):
        iterator(**options | {"batch_size": 3}).load_state_dict(state)


def test_resetting_early_starts_the_next_epoch():
    it, other = iterator(shuffle=True, seed=2), iterator(shuffle=True, seed=2, round_batch=False)
    it.next()
    it.reset()
    list(other)
    other.reset()
    assert labels(it)[:2] == labels(other)[:2]


def test_labels_shapes_and_types():
    it = iterator(path_imglist=True, label_width=2, dtype="float16")
    assert [tuple(d) for d in (*it.provide_data, *it.provide_label)] == [
        ("data", (2, 3, 16, 16)),
        ("softmax_label", (2, 2)),
    ]
    batch = it.next()
    assert batch.data[0].dtype_name == "float16"
    np.testing.assert_array_equal(batch.label[0].asnumpy(), [[0, 0.25], [2, 3.25]])
    np.testing.assert_array_equal(batch.index, [0, 1])
    assert it.progress()["images"] >= 2


def damaged(tmp_path, change):
    data = bytearray((GOLDEN / "png.rec").read_bytes())
    path = tmp_path / "some.rec"
    path.write_bytes(change(data))
    return str(path)


def starts():
    rows = (GOLDEN / "png.idx").read_text().split()
    return [int(offset) for offset in rows[1::2]]


def test_a_damaged_image_is_named_with_its_place(tmp_path):
    def change(data):
        place = starts()[3] + 60
        data[place : place + 8] = b"\xff" * 8
        return data

    path = damaged(tmp_path, change)
    it = mx.io.ImageRecordIter(path_imgrec=path, **SMALL)
    it.next()
    with pytest.raises(FileFormatError, match=rf"some\.rec, record at byte {starts()[3]}: "):
        it.next()
    assert it.next().pad == 1  # the others are there
    it.reset()
    del it
    mx.nd.waitall()  # of what nobody takes nobody hears


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-5], "ends after"),
        (lambda data: b"\0" * 40 + data, "at byte 0: a record should begin here"),
        (lambda data: b"", "has no records"),
        (lambda data: data[:4], "at byte 0: a record should begin here"),
    ],
    ids=["cut", "shifted", "empty", "stub"],
)
def test_damaged_files(change, words, tmp_path):
    with pytest.raises(FileFormatError, match=words):
        mx.io.ImageRecordIter(path_imgrec=damaged(tmp_path, change), **SMALL)


def test_hostile_files_end_in_errors(tmp_path):
    random = np.random.default_rng(0)
    data = (GOLDEN / "png.rec").read_bytes()
    wrong = 0
    for _ in range(300):
        hostile = bytearray(data)
        for _ in range(int(random.integers(1, 4))):
            hostile[random.integers(len(data))] = random.integers(256)
        path = tmp_path / "some.rec"
        path.write_bytes(hostile[: random.integers(len(data) // 2, len(data) + 1)])
        try:
            for batch in mx.io.ImageRecordIter(path_imgrec=str(path), **SMALL):
                assert batch.data[0].asnumpy().shape == (2, 3, 16, 16)
        except FileFormatError as error:
            wrong += "some.rec" in str(error)
    assert wrong > 100


def test_a_file_that_is_gone_while_it_is_read(tmp_path):
    path = damaged(tmp_path, bytes)
    it = mx.io.ImageRecordIter(path_imgrec=path, prefetch_buffer=0, **SMALL)
    it.next()
    os.truncate(path, starts()[2] + 10)
    with pytest.raises(FileFormatError, match=r"some\.rec"):
        it.next()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data_shape": (4, 16, 16)}, "1 or 3 channels"),
        ({"data_shape": (16, 16)}, "1 or 3 channels"),
        ({"part_index": 2, "num_parts": 2}, r"part_index must be in \[0, num_parts\), got 2 of 2"),
        ({"batch_size": 0}, "batch_size"),
        ({"std_g": 0}, "must not be 0"),
        ({"inter_method": 7}, "inter_method must be 0 to 4, 9 or 10, got 7"),
        ({"resize": 0}, "resize=0 makes no image"),
        ({"aug_seq": "other"}, "aug_seq='other' is not there"),
        ({"random_resized_crop": True, "min_random_area": 2}, "random_area must be in a range"),
        ({"min_crop_size": 9, "max_crop_size": 3}, "make no range"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_wrong_arguments(options, words):
    with pytest.raises(InvalidArgumentError, match=f"ImageRecordIter: .*{words}"):
        iterator(**options)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.rec"):
        mx.io.ImageRecordIter(path_imgrec=str(tmp_path / "no.rec"), **SMALL)
    with pytest.raises(MissingFileError, match=r"no\.idx"):
        iterator(path_imgidx=str(tmp_path / "no.idx"))
    with pytest.raises(TypeError, match="path_imgrec must be given"):
        mx.io.ImageRecordIter(**SMALL)
    (tmp_path / "wrong.lst").write_text("0\tx\tname\n")
    with pytest.raises(FileFormatError, match="line 1 is not a number"):
        iterator(path_imglist=str(tmp_path / "wrong.lst"))
    with pytest.raises(FileFormatError, match="has 1 labels, but label_width is 2"):
        iterator(label_width=2).next()


@pytest.mark.slow
def test_memory_and_threads_stay_as_they_are():
    def status():
        lines = Path("/proc/self/status").read_text().splitlines()
        found = dict(line.split(":", 1) for line in lines)
        return int(found["VmRSS"].split()[0]), int(found["Threads"])

    def epochs(count):
        it = iterator(**RANDOM, resize=18, prefetch_buffer=3)
        for _ in range(count):
            for batch in it:
                batch.data[0].wait_to_read()
            it.reset()

    epochs(50)
    gc.collect()
    before = status()
    epochs(200)
    gc.collect()
    after = status()
    assert after[0] - before[0] < 2048
    assert after[1] <= before[1]
