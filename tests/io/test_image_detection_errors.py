"""ImageDetRecordIter: labels, files and arguments that are wrong, or rare."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "image_detection"
SMALL = {"data_shape": (3, 16, 16), "batch_size": 2, "verbose": False}


def iterator(path=GOLDEN / "det.rec", **options):
    if options.get("path_imglist") is True:
        options["path_imglist"] = str(GOLDEN / "det.lst")
    return mx.io.ImageDetRecordIter(path_imgrec=str(path), **{**SMALL, **options})


def packed(path, *labels):
    images = mx.recordio.MXRecordIO(str(GOLDEN / "det.rec"), "r")
    image = mx.recordio.unpack(images.read())[1]
    with mx.recordio.MXRecordIO(str(path), "w") as records:
        for i, label in enumerate(labels):
            records.write(mx.recordio.pack(mx.recordio.IRHeader(0, label, i, 0), image))
    return path


GOOD = [2, 5, 1, 0.1, 0.1, 0.9, 0.9]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (3.0, "its label of 0 numbers is no label of objects"),
        ([2, 5], "has 0 behind a header of 2, which are no objects of 5"),
        ([2, 5, 0, 0.1, 0.2, 0.5], "has 4 behind a header of 2, which are no objects of 5"),
        ([2, 5, 0, 0.1, 0.2, 0.5, 0.6, 3], "has 6 behind a header of 2"),
        ([2, 4, 0, 0.1, 0.2, 0.5], "an object 4 numbers, too few"),
        ([1, 5, 0, 0.1, 0.2, 0.5, 0.6], "its header has 1, and an object 5 numbers, too few"),
        ([1e9, 5, 0, 0.1, 0.2, 0.5, 0.6], "has 0 behind a header of 1000000000"),
        ([float("nan")] * 7, "header has 0, and an object 0 numbers"),
    ],
    ids=str,
)
def test_labels_without_objects_are_named_with_their_place(label, words, tmp_path):
    path = packed(tmp_path / "some.rec", GOOD, label, GOOD)
    it = iterator(path, batch_size=1)
    assert it.next().label[0].asnumpy()[0, 6] == 1
    with pytest.raises(FileFormatError, match=rf"some\.rec, record at byte [1-9]\d+: .*{words}"):
        it.next()
    assert it.next().label[0].asnumpy()[0, 6] == 1


def test_objects_without_area_are_left_out_even_if_it_is_all(tmp_path):
    path = packed(tmp_path / "some.rec", [2, 5, 1, 0.5, 0.1, 0.4, 0.9], GOOD)
    labels = iterator(path, rand_crop_prob=1, min_crop_scales=0.5).next().label[0].asnumpy()
    np.testing.assert_array_equal(labels[0], [3, 16, 16, 2, 2, 5, *[-1] * 5])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_pad_width": 16}, "label_pad_width is 16, but the longest label has 17 numbers"),
        ({"path_imglist": True, "label_pad_width": 8}, "the longest label has 12 numbers"),
        ({"num_crop_sampler": 2, "min_crop_scales": (0, 0, 0)}, "min_crop_scales must have one"),
        ({"min_crop_scales": 1}, "min_crop_scales and max_crop_scales must be a range within 0"),
        ({"max_crop_scales": 2}, "must be a range within 0 to 1, got 0.0 and 2.0"),
        ({"min_crop_overlaps": 0.5, "max_crop_overlaps": 0.4}, "max_crop_overlaps must be a range"),
        ({"min_crop_aspect_ratios": -1}, "min_crop_aspect_ratios and max_crop_aspect_ratios must"),
        ({"max_crop_trials": -1}, "max_crop_trials"),
        ({"emit_overlap_thresh": -0.5}, "emit_overlap_thresh must be at least 0, got -0.5"),
        ({"crop_emit_mode": "all"}, "crop_emit_mode.* must be one of 'center', 'overlap'"),
        ({"resize_mode": "cut"}, "resize_mode.* must be one of 'fit', 'force', 'shrink'"),
        ({"data_shape": (4, 16, 16)}, "1 or 3 channels"),
        ({"data_shape": (1, 9, 9), "max_random_hue": 9, "random_hue_prob": 1}, "need 3 channels"),
        ({"resize": 0}, "resize=0 makes no image"),
        ({"inter_method": 7}, "inter_method must be 0 to 4, 9 or 10, got 7"),
        ({"part_index": 3, "num_parts": 3}, r"part_index must be in \[0, num_parts\)"),
        ({"aug_seq": "aug_default"}, "aug_seq='aug_default' is not there"),
    ],
    ids=str,
)
def test_wrong_arguments(options, words):
    with pytest.raises(InvalidArgumentError, match=f"ImageDetRecordIter: .*{words}"):
        iterator(**options)


def test_labels_of_another_width_and_files_that_are_not_there(tmp_path):
    with pytest.raises(
        FileFormatError, match=r"record at byte \d+: has 12 labels, but label_width is 7"
    ):
        iterator(label_width=7)
    with pytest.raises(FileFormatError, match="image 0 of path_imglist has 7 labels, but label_w"):
        iterator(path_imglist=True, label_width=9)
    with pytest.raises(MissingFileError, match=r"no\.rec"):
        iterator(tmp_path / "no.rec")
    with pytest.raises(TypeError, match="ImageDetRecordIter: path_imgrec must be given"):
        mx.io.ImageDetRecordIter(**SMALL)
    (tmp_path / "short.lst").write_text("0\t2\t5\t0\t0\t0\t1\t1\tname\n")
    it = iterator(path_imglist=tmp_path / "short.lst")
    with pytest.raises(FileFormatError, match="the list has no image 1"):
        it.next()


def test_a_padding_that_is_too_large_is_an_error_with_its_place():
    it = iterator(rand_pad_prob=1, max_pad_scale=1e9)
    with pytest.raises(InvalidArgumentError, match=r"det\.rec, record at byte 0: the image would"):
        it.next()


def test_hostile_files_end_in_errors(tmp_path):
    random = np.random.default_rng(0)
    data = (GOLDEN / "det.rec").read_bytes()
    starts = [int(row.split()[1]) for row in (GOLDEN / "det.idx").read_text().splitlines()]
    wrong = 0
    for _ in range(300):
        hostile = bytearray(data)
        for _ in range(int(random.integers(1, 4))):
            place = random.choice(starts) + random.integers(100)  # heads and labels
            hostile[place] = random.integers(256)
        path = tmp_path / "some.rec"
        path.write_bytes(hostile)
        try:
            for batch in iterator(path, prefetch_buffer=0, rand_crop_prob=0.5):
                assert batch.data[0].shape == (2, 3, 16, 16)
        except FileFormatError as error:
            wrong += "some.rec" in str(error)
    assert wrong > 100


def test_labels_may_have_the_bytes_that_begin_a_record(tmp_path):
    """Such a record is in two parts, and the count of its labels not where it is in others."""
    (magic,) = np.frombuffer(np.uint32([0xCED7230A]).tobytes(), np.float32).tolist()
    label = [2, 6, 1, 0.1, 0.1, 0.9, 0.9, magic]
    labels = iterator(packed(tmp_path / "some.rec", GOOD, label)).next().label[0].asnumpy()
    assert labels.shape == (2, 12)
    np.testing.assert_array_equal(labels[1, 4:], np.float32(label))
    assert labels[0, 11:].tolist() == [-1]
