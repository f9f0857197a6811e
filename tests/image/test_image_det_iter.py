"""ImageDetIter: what is refused and how, shapes, and pictures; batches are in test_iter_golden."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import random
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError, MXNetError

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "image_iter"
REC, IDX, WIDE = (str(FOLDER / name) for name in ("boxes.rec", "boxes.idx", "wide.rec"))
ONE = [2, 5, 1, 0.25, 0.25, 0.75, 0.5]
TWO = [*ONE, 0, 0, 0, 1, 1]


def iterator(*items, batch_size=1, data_shape=(3, 8, 8), **options):
    if items:
        options |= {"imglist": list(items), "path_root": str(FOLDER)}
    return mx.image.ImageDetIter(batch_size, data_shape, **options)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ([1], r"and has at least 7 numbers, got \[1.0\]"),
        ([np.nan, *ONE[1:]], "and has at least 7 numbers, got"),
        ([2, 0, *ONE[2:]], "with a head of 2 and objects of 0"),
        ([2, 4, *ONE[2:6], 1, 1, 1, 1], "objects of at least 5, got 10 numbers, .* objects of 4"),
        ([*ONE, 1], "got 8 numbers, with a head of 2 and objects of 5"),
        ([0, 5, *ONE], "with a head of 0"),
        ([-3, 5, *ONE], "with a head of -3"),
        ([7, 5, *ONE[2:]], "with a head of 7"),
        ([1e30, 5, *ONE[2:]], "with a head of 1"),
        ([2, 5, 1, 0.5, 0.5, 0.5, 0.9], "no object in the label has a width and a height"),
        ([2, 5, 1, 0.1, 0.1, 0.9, np.nan], "no object in the label"),
    ],
)
def test_labels_that_are_wrong(label, said):
    with pytest.raises(FileFormatError, match=rf"ImageDetIter: image '1\.png': .*{said}"):
        iterator([ONE, "0.png"], [label, "1.png"])


def test_objects_of_other_widths():
    wide = [2, 6, 1, 0.1, 0.1, 0.9, 0.9, 0]
    with pytest.raises(FileFormatError, match=r"'1\.png': its objects have 6 .* before 5"):
        iterator([ONE, "0.png"], [wide, "1.png"])


def test_arguments_that_are_wrong(tmp_path):
    with pytest.raises(InvalidArgumentError, match="ImageDetIter: there are no images"):
        mx.image.ImageDetIter(1, (3, 8, 8), imglist=[])
    with pytest.raises(InvalidArgumentError, match="ImageDetIter: path_imgrec, path_imglist or"):
        iterator()
    with pytest.raises(InvalidArgumentError, match="ImageDetIter: data_shape must be"):
        iterator([ONE, "0.png"], data_shape=(1, 8, 8))
    with pytest.raises(InvalidArgumentError, match="last_batch_handle must be one of"):
        iterator([ONE, "0.png"], last_batch_handle="keep")
    with pytest.raises(TypeError, match="rand_resize"):
        iterator([ONE, "0.png"], rand_resize=True)
    with pytest.raises(MissingFileError, match="nothing"):
        iterator(path_imgrec=str(tmp_path / "nothing.rec"))
    with pytest.raises(MissingFileError, match=r"nothing\.png"):
        iterator([ONE, "nothing.png"])
    classes = str(FOLDER / "classes.rec")
    with pytest.raises(FileFormatError, match=r"record 0 of .*classes\.rec: a label for detection"):
        iterator(path_imgrec=classes)


def test_shapes_of_labels():
    it = iterator([ONE, "0.png"], [TWO, "1.png"], batch_size=2)
    assert (it.label_shape, it.provide_label) == ((2, 5), [("label", (2, 2, 5))])
    expected = [[ONE[2:], [-1] * 5], [TWO[2:7], TWO[7:]]]
    assert it.next().label[0].asnumpy().tolist() == expected
    it.reshape(label_shape=[3, 5])
    it.reset()
    assert (it.label_shape, it.provide_label) == ((3, 5), [("label", (2, 3, 5))])
    found = it.next().label[0].asnumpy().tolist()
    assert found == [[*rows, [-1] * 5] for rows in expected]
    for wrong in ((2, 5), (3, 6), (3, 4), (3,), (3, 5, 1)):
        with pytest.raises(ValueError, match=r"label_shape must be \(3, 5\), or have more rows"):
            it.reshape(label_shape=wrong)
        with pytest.raises(ValueError, match="label_shape must be"):
            it.check_label_shape(wrong)
    assert it.label_shape == (3, 5)


def test_another_shape_of_data():
    it = iterator([ONE, "0.png"])
    it.reshape((3, 6, 4))
    assert (it.data_shape, it.provide_data) == ((3, 6, 4), [("data", (1, 3, 6, 4))])
    with pytest.raises(InvalidArgumentError, match=r"data_shape asks for .* \(3, 8, 8\)"):
        it.next()
    it.auglist = mx.image.CreateDetAugmenter(it.data_shape)
    it.reset()
    assert it.next().data[0].shape == (1, 3, 6, 4)
    for wrong in ((1, 4, 4), (3, 4), (3, 0, 4), "no"):
        with pytest.raises(ValueError, match=r"data_shape\b.* must be"):
            it.reshape(wrong)
    assert it.data_shape == (3, 6, 4)


def test_two_iterators_with_one_shape(caplog):
    few, many = iterator([ONE, "0.png"]), iterator([TWO, "0.png"])
    with caplog.at_level(logging.INFO):
        assert few.sync_label_shape(many) is many
        assert "label_shape" not in caplog.text
        few = iterator([ONE, "0.png"])
        assert many.sync_label_shape(few, verbose=True) is few
    assert "label_shape is now (2, 5)" in caplog.text
    assert few.label_shape == many.label_shape == (2, 5)
    assert few.provide_label == [("label", (1, 2, 5))]
    with pytest.raises(TypeError, match="it must be an ImageDetIter, got NoneType"):
        few.sync_label_shape(None)
    with pytest.raises(InvalidArgumentError, match="5 numbers here, and 6 in the other"):
        few.sync_label_shape(iterator(path_imgrec=WIDE))


class Change(mx.image.DetAugmenter):
    """Calls a function of the label."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def __call__(self, src, label):
        return src, self.change(label)


def test_images_that_lose_their_objects_are_passed_over(caplog):
    def change(label):
        return label[:0] if len(label) == 2 else label

    items = [[ONE, "0.png"], [TWO, "1.png"], [ONE, "2.png"]]
    it = iterator(*items, data_shape=(3, 14, 18), aug_list=[Change(change)])
    it.postprocess_data = lambda datum: mx.nd.ones((3, 14, 18))
    with caplog.at_level(logging.DEBUG):
        assert len(list(it)) == 2
    assert "image '1.png': skipped: no object is left" in caplog.text
    nothing = iterator([[*ONE[:2], -1, *ONE[3:]], "0.png"])
    for _ in range(2):
        assert list(nothing) == []
        nothing.reset()


def test_what_augmenters_raise(caplog):
    def change(label):
        if len(label) == 2:
            raise RuntimeError("two are too many")
        return label

    items = [[ONE, "0.png"], [TWO, "1.png"]]
    it = iterator(*items, aug_list=[*mx.image.CreateDetAugmenter((3, 8, 8)), Change(change)])
    with caplog.at_level(logging.DEBUG):
        assert len(list(it)) == 1
    assert "image '1.png': skipped: two are too many" in caplog.text
    it = iterator(*items, inter_method=77)
    with pytest.raises(InvalidArgumentError, match="interp must be"):
        it.next()


def test_objects_that_an_augmenter_adds():
    double = Change(lambda label: np.concatenate([label, label]))
    it = iterator([ONE, "0.png"], data_shape=(3, 14, 18), aug_list=[double])
    with pytest.raises(InvalidArgumentError, match=r"'0\.png': label_shape is \(1, 5\), got \(2"):
        it.next()
    it.reshape(label_shape=(2, 5))
    it.reset()
    assert it.next().label[0].asnumpy().tolist() == [[ONE[2:]] * 2]


def test_a_damaged_image_is_named_and_no_other_lost(tmp_path):
    whole = (FOLDER / "0.png").read_bytes()
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(whole[:60] if i == 1 else whole)
    items = [[[2, 5, i, 0, 0, 1, 1], f"{i}.png"] for i in range(4)]
    it = mx.image.ImageDetIter(2, (3, 8, 8), imglist=items, path_root=tmp_path)
    with pytest.raises(FileFormatError, match=r"ImageDetIter: image '1\.png'"):
        it.next()
    found = [batch.label[0][:, 0, 0].asnumpy().tolist() for batch in it]
    assert found == [[0, 2], [3, 0]]


def test_equal_seeds_give_equal_batches():
    options = {"rand_crop": 0.7, "rand_pad": 0.7, "rand_mirror": True, "hue": 0.2, "shuffle": True}

    def epochs(seed):
        random.seed(seed)
        it = iterator(batch_size=2, path_imgrec=REC, path_imgidx=IDX, **options)
        found = []
        for _ in range(2):
            found += [(b.data[0].asnumpy(), b.label[0].asnumpy()) for b in it]
            it.reset()
        return found

    for (data, label), (again, other) in zip(epochs(3), epochs(3), strict=True):
        np.testing.assert_array_equal(data, again)
        np.testing.assert_array_equal(label, other)
    assert not np.array_equal(epochs(3)[0][0], epochs(4)[0][0])


def test_drawn_boxes():
    pytest.importorskip("PIL.ImageDraw")
    it = iterator([ONE, "0.png"], [TWO, "1.png"], data_shape=(3, 40, 80))
    plain = [batch.data[0].asnumpy()[0].transpose(1, 2, 0) for batch in it]
    it.reset()
    found = list(it.draw_next(color=(255, 0, 10), thickness=1))
    assert [(image.shape, image.dtype) for image in found] == [((40, 80, 3), np.uint8)] * 2
    line = np.zeros((40, 80), bool)
    line[10, 20:61] = line[20, 20:61] = True
    line[10:21, 20] = line[10:21, 60] = True
    expected = plain[0].clip(0, 255).astype(np.uint8)[..., ::-1].copy()
    expected[line] = [10, 0, 255]
    np.testing.assert_array_equal(found[0], expected)
    assert found[1][0, 0].tolist() == [10, 0, 255]


def test_drawn_names_and_any_colours():
    pytest.importorskip("PIL.ImageDraw")
    options = {"data_shape": (3, 60, 90), "mean": True, "std": True}
    it = iterator([[2, 5, 1, 0.1, 0.1, 0.9, 0.9], "2.png"], **options)
    np.random.seed(1)
    first = next(it.draw_next(mean=True, std=True))
    np.random.seed(1)
    color = (np.random.rand(3) * 255).astype(int)
    assert first[6, 40].tolist() == color.tolist()
    plain = iterator([ONE, "2.png"], data_shape=(3, 60, 90)).next().data[0].asnumpy()[0]
    inside = (slice(12, 50), slice(14, 76))
    apart = first[..., ::-1][inside].astype(float) - plain.transpose(1, 2, 0)[inside]
    assert np.abs(apart).max() <= 1.01
    it.reset()
    named = next(it.draw_next(color=(0, 0, 0), mean=True, std=True, id2labels={1: "cat"}))
    it.reset()
    unnamed = next(it.draw_next(color=(0, 0, 0), mean=True, std=True, id2labels={2: "dog"}))
    np.testing.assert_array_equal(unnamed[inside], first[inside])
    # Smooth letters cover few pixels wholly.
    apart = named.astype(int) - unnamed
    assert apart.min() >= 0
    assert 10 < (apart > 0).any(-1).sum() < 300
    assert named[(apart > 0).any(-1)].min(-1).max() > 200
    it.reset()
    with pytest.raises(InvalidArgumentError, match="draw_next: mean must be"):
        next(it.draw_next(mean=[1, 2]))


def test_full_boxes_and_boxes_that_begin_outside():
    pytest.importorskip("PIL.ImageDraw")
    outside = [2, 5, 0, -0.5, 0, 0.5, 1, 1, 0.5, 0, 1, 1]
    it = iterator([outside, "0.png"])
    image = next(it.draw_next(color=(1, 2, 3), thickness=-1))
    assert (image[:, 4:] == [3, 2, 1]).all()
    assert not (image[:, :4] == [3, 2, 1]).any()


def test_drawing_passes_over_what_is_not_valid(caplog):
    pytest.importorskip("PIL.ImageDraw")
    it = iterator([ONE, "0.png"], [ONE, "1.png"])

    def check(data):
        if it.cur == 1:
            raise RuntimeError("it is the first")

    it.check_valid_image = check
    with caplog.at_level(logging.DEBUG):
        assert len(list(it.draw_next())) == 1
    assert "image '0.png': skipped: it is the first" in caplog.text


def test_drawing_without_libraries(monkeypatch):
    it = iterator([ONE, "0.png"])

    def absent(name, *args):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MXNetError, match=r"draw_next needs pillow to draw boxes, .* pip install"):
        next(it.draw_next())


@pytest.mark.skipif(
    importlib.util.find_spec("cv2") is not None, reason="OpenCV is there, and would open a window"
)
def test_a_window_without_opencv():
    pytest.importorskip("PIL.ImageDraw")
    it = iterator([ONE, "0.png"])
    with pytest.raises(MXNetError, match="draw_next needs opencv-python for a window"):
        next(it.draw_next(waitKey=1))
