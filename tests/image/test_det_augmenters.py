"""Augmenters for detection: what is refused, said and kept; values are in test_iter_golden."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

image = mx.image


def sample(rows=20, columns=28):
    values = np.arange(rows * columns * 3).reshape(rows, columns, 3) % 251
    return mx.nd.array(values, dtype="uint8")


def label(*boxes):
    return np.array(boxes or [[1, 0.2, 0.3, 0.7, 0.8]], "float32")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: image.DetBorrowAug(3), "augmenter must be an Augmenter, got int"),
        (lambda: image.DetBorrowAug(image.DetHorizontalFlipAug(1)), "got DetHorizontalFlipAug"),
        (lambda: image.DetRandomSelectAug([image.CastAug()]), "of DetAugmenters, got CastAug"),
        (lambda: image.DetRandomCropAug("much"), "min_object_covered must be a number, got 'much'"),
        (lambda: image.DetRandomCropAug(max_attempts=1.5), "max_attempts must be an int, got 1.5"),
        (lambda: image.DetRandomCropAug(area_range=(1,)), r"area_range must be .* got \(1,\)"),
        (lambda: image.DetRandomCropAug(area_range="wide"), "area_range must be .* got 'wide'"),
        (lambda: image.DetRandomPadAug((0.5, "one")), "aspect_ratio_range must be a number, or"),
        (lambda: image.DetRandomPadAug(pad_val="black"), "pad_val must be a number, got 'black'"),
        (lambda: image.DetRandomPadAug(pad_val=(1, None)), "pad_val must be a number, got None"),
        (
            lambda: image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3]),
            "min_object_covered must have one value or 3, as the longest list has, got 2",
        ),
        (
            lambda: image.CreateDetAugmenter((3, 4, 4), rand_pad=1, area_range=[(0, 1)] * 3),
            "CreateDetAugmenter: area_range must be",
        ),
        (lambda: image.CreateDetAugmenter((3, 4, 4), mean=[1, 2]), "CreateDetAugmenter: mean must"),
    ],
)
def test_arguments_that_are_wrong(act, said):
    with pytest.raises(InvalidArgumentError, match=said):
        act()


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (image.DetRandomCropAug, {"area_range": (0.5, 0.2)}, r"area_range is \(0.5, 0.2\)"),
        (image.DetRandomCropAug, {"area_range": 0}, r"area_range is \(0, 0\)"),
        (image.DetRandomCropAug, {"aspect_ratio_range": (0, 1)}, "aspect_ratio_range is"),
        (image.DetRandomPadAug, {"area_range": (0.2, 1)}, r"area_range is \(0.2, 1\)"),
        (image.DetRandomPadAug, {"aspect_ratio_range": (2, 1)}, "aspect_ratio_range is"),
    ],
)
def test_ranges_with_nothing_in_them(make, options, said):
    with pytest.warns(UserWarning, match=f"{make.__name__} does nothing: {said}"):
        augmenter = make(**options)
    assert not augmenter.enabled
    random.seed(1)
    before = random.getstate()
    given, boxes = sample(), label()
    assert augmenter(given, boxes) == (given, boxes)
    assert random.getstate() == before


def test_augmenters_describe_themselves_as_in_mxnet():
    flip = image.DetHorizontalFlipAug(0.5)
    assert image.DetRandomSelectAug(flip, 0.2).dumps() == [
        "detrandomselectaug",
        ['["dethorizontalflipaug", {"p": 0.5}]'],
    ]
    assert image.DetRandomCropAug(area_range=0.5).dumps() == (
        '["detrandomcropaug", {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 1.33], '
        '"area_range": [0.5, 0.5], "min_eject_coverage": 0.3, "max_attempts": 50}]'
    )
    assert image.DetRandomPadAug(pad_val=3).dumps() == (
        '["detrandompadaug", {"aspect_ratio_range": [0.75, 1.33], "area_range": [1.0, 3.0], '
        '"max_attempts": 50, "pad_val": 3}]'
    )
    every = image.CreateDetAugmenter(
        (3, 4, 4),
        *(1, 0.5, 0.5, 0.5, True, True, np.array([1.0, 2.0, 3.0]), 0.1, 0.1, 0.1, 0.1, 0.1),
    )
    names = [str(augmenter.dumps()).split('"')[1] for augmenter in every]
    assert names == [
        *("resizeaug", "detrandomcropaug", "dethorizontalflipaug", "detrandompadaug"),
        *("forceresizeaug", "castaug", "brightnessjitteraug", "huejitteraug", "lightingaug"),
        *("randomgrayaug", "colornormalizeaug"),
    ]
    assert every[0].dumps() == ["detborrowaug", '["resizeaug", {"size": 1, "interp": 2}]']
    assert '"std": [1.0, 2.0, 3.0]' in str(every[-1].dumps())


def test_the_base_and_what_is_borrowed():
    with pytest.raises(NotImplementedError, match="DetAugmenter has no __call__"):
        image.DetAugmenter()(sample(), label())
    boxes = label()
    found, kept = image.DetBorrowAug(image.CastAug("float64"))(sample(), boxes)
    assert found.dtype == np.float64
    assert kept is boxes


def test_flips_are_undone_by_flips():
    given, boxes = sample(), label([1, 0.2, 0.3, 0.7, 0.8, 9])
    flip = image.DetHorizontalFlipAug(1)
    found, flipped = flip(given, boxes.copy())
    np.testing.assert_array_equal(found.asnumpy(), given.asnumpy()[:, ::-1])
    np.testing.assert_allclose(flipped, [[1, 0.3, 0.3, 0.8, 0.8, 9]], rtol=1e-6)
    np.testing.assert_allclose(flip(found, flipped)[1], boxes, rtol=1e-6)
    assert image.DetHorizontalFlipAug(0)(given, boxes)[0] is given


def test_one_of_several_or_none():
    class Mark(image.DetAugmenter):
        def __init__(self, mark):
            super().__init__()
            self.mark = mark

        def __call__(self, src, label):
            return src, label + self.mark

    random.seed(0)
    given = [Mark(1), Mark(2), Mark(4)]
    select = image.DetRandomSelectAug(tuple(given), skip_prob=0.25)
    found = [int(select(None, 0)[1]) for _ in range(400)]
    counts = [found.count(mark) for mark in (0, 1, 2, 4)]
    assert sum(counts) == 400
    assert all(70 < count < 130 for count in counts)
    assert image.DetRandomSelectAug([], 0)(None, 7) == (None, 7)
    assert image.DetRandomSelectAug(given, 1)(None, 7) == (None, 7)
    assert [mark.mark for mark in given] == [1, 2, 4]


def test_crops_keep_what_they_say():
    """Labels and pixels of many crops, computed again from where the crop is."""
    rows, columns = 31, 45
    place = np.stack(np.mgrid[:rows, :columns], -1)
    given = mx.nd.array(np.concatenate([place, place[..., :1]], -1), dtype="float32")
    boxes = label([0, 0.1, 0.1, 0.4, 0.6], [1, 0.5, 0.3, 0.95, 0.9], [2, 0.3, 0.3, 0.3, 0.9])
    augmenter = image.DetRandomCropAug(0.4, (0.5, 2), (0.1, 0.9), 0.5, 50)
    random.seed(4)
    crops = 0
    for _ in range(60):
        found, kept = augmenter(given, boxes)
        height, width = found.shape[:2]
        if (height, width) == (rows, columns):
            continue
        crops += 1
        assert 0.1 * rows * columns <= height * width <= 0.9 * rows * columns
        top, left = found[0, 0, :2].asnumpy()
        np.testing.assert_array_equal(
            found.asnumpy(), given.asnumpy()[int(top) :, int(left) :][:height, :width]
        )
        expected = []
        for kind, x1, y1, x2, y2 in boxes.astype("float64"):
            ends = np.array([x1 * columns, y1 * rows, x2 * columns, y2 * rows])
            shift = np.array([left, top, left, top])
            inside = np.clip(ends - shift, 0, [width, height, width, height])
            share = np.prod(inside[2:] - inside[:2]) / max(np.prod(ends[2:] - ends[:2]), 1e-9)
            if share > 0.5:
                expected.append([kind, *inside / [width, height, width, height]])
        np.testing.assert_allclose(kept, expected, atol=1e-5)
    assert crops > 20


def test_a_crop_that_cannot_be_leaves_the_image():
    given = sample()
    for boxes in (label([0, 0.5, 0.5, 0.5, 0.5]), label([0, 0.5, 0.5, 0.501, 0.501])):
        assert image.DetRandomCropAug()(given, boxes) == (given, boxes)
    tiny = sample(1, 1)
    boxes = label()
    assert image.DetRandomCropAug()(tiny, boxes)[0] is tiny
    assert image.DetRandomCropAug(area_range=(0, 1), max_attempts=0)(given, boxes)[0] is given


@pytest.mark.parametrize(
    ("color", "expected"), [((9, 8, 7), [9, 8, 7]), ([300, -1, 2.5], [255, 0, 2]), (6, [6, 6, 6])]
)
def test_what_is_around_a_padded_image(color, expected):
    random.seed(5)
    given, boxes = sample(), label([3, 0, 0, 1, 1])
    found, kept = image.DetRandomPadAug(area_range=(2, 4), pad_val=color)(given, boxes)
    height, width = found.shape[:2]
    assert 1.9 < height * width / (20 * 28) < 4.1
    left, top, right, bottom = np.rint(kept[0, 1:] * [width, height, width, height]).astype(int)
    assert (right - left, bottom - top) == (28, 20)
    samples = found.asnumpy()
    np.testing.assert_array_equal(samples[top:bottom, left:right], given.asnumpy())
    around = np.ones((height, width), bool)
    around[top:bottom, left:right] = False
    np.testing.assert_array_equal(samples[around], [expected] * around.sum())
    np.testing.assert_array_equal(boxes, label([3, 0, 0, 1, 1]))


def test_parts_of_classes():
    several = image.CreateMultiRandCropAugmenter(
        [0.1, 0.5], area_range=[(0.1, 1), (0.2, 1)], max_attempts=3, skip_prob=0.5
    )
    found = [(a.min_object_covered, a.area_range, a.max_attempts) for a in several.aug_list]
    assert found == [(0.1, (0.1, 1), 3), (0.5, (0.2, 1), 3)]
    assert several.skip_prob == 0.5
    pad = image.CreateDetAugmenter((3, 4, 4), rand_pad=1, area_range=2.5)[0]
    assert pad.aug_list[0].area_range == (1.0, 2.5)
