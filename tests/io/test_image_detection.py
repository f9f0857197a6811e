"""ImageDetRecordIter: MXNet's batches; parts, paddings and labels that belong together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "image_detection"
CASES = json.loads((GOLDEN / "cases.json").read_text())
BATCHES = np.load(GOLDEN / "batches.npz")
SMALL = {"data_shape": (3, 16, 16), "batch_size": 2, "verbose": False}


def iterator(path=GOLDEN / "det.rec", **options):
    if options.get("path_imglist") is True:
        options["path_imglist"] = str(GOLDEN / "det.lst")
    return mx.io.ImageDetRecordIter(path_imgrec=str(path), **{**SMALL, **options})


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda i: f"{i}-{'-'.join(map(str, CASES[i][0]))}"
)
def test_batches_are_those_of_mxnet(number, tmp_path):
    options, pads = dict(CASES[number][0]), CASES[number][1]
    if options.get("mean_img"):
        options["mean_img"] = tmp_path / "mean.bin"
    it = iterator(**options)
    found = [*it]
    if not options:
        it.reset()
        found += [*it]
    assert [batch.pad for batch in found] == pads
    for i, batch in enumerate(found):
        kept = it.batch_size - batch.pad if "round_batch" in options else it.batch_size
        data, label = (BATCHES[f"{number} {i} {name}"] for name in ("data", "label"))
        np.testing.assert_array_equal(batch.label[0].asnumpy()[:kept], label[:kept])
        images = batch.data[0].asnumpy()
        assert images.dtype == data.dtype
        kinds = zip(images[:kept], data, label, strict=False)
        for image, expected, (_, rows, columns, *_) in kinds:
            inside = np.s_[:, : int(rows), : int(columns)]
            difference = np.abs(image[inside] - expected[inside])
            assert difference.max() <= options.get("scale", 1)
            assert difference.mean() < 0.03


def test_shapes_types_and_what_lies_beyond_an_image():
    it = iterator(resize_mode="shrink", data_shape=(3, 40, 44), mean_g=3, dtype="float64")
    assert [tuple(d) for d in (*it.provide_data, *it.provide_label)] == [
        ("data", (2, 3, 40, 44)),
        ("softmax_label", (2, 21)),
    ]
    batch = it.next()
    images, labels = batch.data[0].asnumpy(), batch.label[0].asnumpy()
    assert (images.dtype, labels.dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(batch.index, [0, 1])
    np.testing.assert_array_equal(labels[:, :3], [[3, 20, 24], [3, 33, 19]])
    beyond = np.broadcast_to(np.reshape([0, -3, 0], (3, 1, 1)), (3, 20, 44))
    np.testing.assert_array_equal(images[0, :, 20:], beyond)
    np.testing.assert_array_equal(
        images[1, :, :, 19:], np.broadcast_to(beyond[:, :1, :1], (3, 40, 25))
    )


# Images whose red is their column and whose green is their row, so that a part shows where it was.
SIDE = 50
OBJECTS = np.float32(
    [[0, 0.1, 0.2, 0.5, 0.6], [1, 0.42, 0.44, 0.52, 0.56], [2, 0.55, 0.3, 0.95, 0.9]]
)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    path = tmp_path_factory.mktemp("places") / "places.rec"
    rows, columns = np.mgrid[:SIDE, :SIDE]
    image = np.stack([np.full_like(rows, 200), rows * 4, columns * 4], axis=-1).astype(np.uint8)
    with mx.recordio.MXRecordIO(str(path), "w") as records:
        for i in range(20):
            header = mx.recordio.IRHeader(0, [2, 5, *OBJECTS.ravel()], i, 0)
            records.write(mx.recordio.pack_img(header, image, img_fmt=".png"))
    return path


def drawn(path, epochs=4, **options):
    """Images, each of its own size, and objects."""
    settings = {"data_shape": (3, 80, 80), "batch_size": 20, "resize_mode": "shrink", **options}
    it = iterator(path, **settings)
    for _ in range(epochs):
        batch = it.next()
        for image, label in zip(batch.data[0].asnumpy(), batch.label[0].asnumpy(), strict=True):
            rows, columns, length = label[1:4].astype(int)
            assert label[4:6].tolist() == [2, 5]
            objects = label[6 : 4 + length].reshape(-1, 5)
            assert (label[4 + length :] == -1).all()
            yield image[:, :rows, :columns], objects
        it.reset()


def common(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    return np.prod(np.maximum(high - low, 0))


def area(box):
    return np.prod(box[2:] - box[:2])


def frame_of(objects):
    """Which part of the image the objects are relative to, by one whose box is not cut; or None."""
    for name, *box in objects.astype(float):
        left, top, right, bottom = box
        if min(left, top) > 0 and max(right, bottom) < 1:
            before = OBJECTS[int(name), 1:].astype(float)
            size = (before[2:] - before[:2]) / [right - left, bottom - top]
            start = before[:2] - [left, top] * size
            return np.concatenate([start, start + size])
    return None


def parts(path, **options):
    """The parts that were taken, with the objects that stayed; what both say of them agrees."""
    count = 0
    for image, objects in drawn(path, rand_crop_prob=1, **options):
        count += 1
        start = image[:2, 0, 0] / 4
        size = np.array(image.shape[:0:-1])
        expected = np.mgrid[start[1] : start[1] + size[1], start[0] : start[0] + size[0]] * 4
        np.testing.assert_array_equal(image[:2], expected[::-1])
        if (frame := frame_of(objects)) is not None:
            # In pixels, without the rest; a hair's breadth for float32.
            found = np.concatenate([frame[:2], frame[2:] - frame[:2]]) * SIDE
            whole = np.concatenate([start, size])
            assert (found - whole > -1e-3).all()
            assert (found - whole < 1 + 1e-3).all()
            yield frame, objects
    assert count == 80


@pytest.mark.parametrize("mode", ["center", "overlap"])
def test_the_objects_of_a_part(places, mode):
    sizes = []
    for frame, objects in parts(
        places, min_crop_scales=0.3, crop_emit_mode=mode, emit_overlap_thresh=0.4
    ):
        sizes.append(area(frame))
        stay = []
        for name, *box in OBJECTS.astype(float):
            middle = (np.array(box[:2]) + box[2:]) / 2
            if mode == "center":
                stays = (middle >= frame[:2]).all() and (middle < frame[2:]).all()
            else:
                stays = common(frame, np.array(box)) / area(np.array(box)) > 0.4
            if stays:
                relative = (np.array(box) - np.tile(frame[:2], 2)) / np.tile(
                    frame[2:] - frame[:2], 2
                )
                stay.append([name, *np.maximum(relative[:2], 0), *np.minimum(relative[2:], 1)])
        np.testing.assert_allclose(objects, stay, atol=1e-5)
    assert len(sizes) > 40
    assert min(sizes) < 0.25
    assert max(sizes) > 0.6


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("overlaps", 0.3, 0.5), ("sample_coverages", 0.1, 0.4), ("object_coverages", 0.7, 0.8)],
)
def test_a_part_lies_to_an_object_as_it_is_asked(places, name, low, high):
    options = {f"min_crop_{name}": low, f"max_crop_{name}": high}
    count = 0
    for frame, _ in parts(places, min_crop_scales=0.2, max_crop_trials=2000, **options):
        ratios = []
        for box in OBJECTS[:, 1:].astype(float):
            both = common(frame, box)
            whole = {
                "overlaps": area(frame) + area(box) - both,
                "sample_coverages": area(frame),
                "object_coverages": area(box),
            }
            ratios.append(both / whole[name])
        assert any(low - 1e-4 <= ratio <= high + 1e-4 for ratio in ratios)
        count += 1
    assert count > 20


def test_scales_and_ratios_of_parts_and_samplers_in_any_order(places):
    frames = [
        frame
        for frame, _ in parts(
            places,
            num_crop_sampler=2,
            min_crop_scales=(0.5, 0.9),
            max_crop_scales=(0.6, 0.95),
            min_crop_aspect_ratios="(0.5, 0.9)",
            max_crop_aspect_ratios=(2, 0.95),
        )
    ]
    sizes = np.array([frame[2:] - frame[:2] for frame in frames])
    scales, ratios = np.sqrt(sizes.prod(axis=1)), sizes[:, 0] / sizes[:, 1]
    small = scales < 0.75
    assert 0.2 < small.mean() < 0.8
    assert (scales[small] > 0.5 - 1e-4).all()
    assert (scales[small] < 0.6 + 1e-4).all()
    assert (scales[~small] > 0.9 - 1e-4).all()
    assert (scales[~small] < 0.95 + 1e-4).all()
    assert (ratios[~small] > 0.9 - 1e-4).all()
    assert (ratios[~small] < 0.95 + 1e-4).all()
    assert ratios[small].min() < 0.8


def test_what_no_part_fulfils_leaves_the_image_whole(places):
    for image, objects in drawn(places, epochs=1, rand_crop_prob=1, min_crop_overlaps=0.99):
        assert image.shape == (3, SIDE, SIDE)
        np.testing.assert_array_equal(objects, OBJECTS)


def test_half_of_the_images_are_mirrored_with_their_objects(places):
    mirrored = 0
    for image, objects in drawn(places, rand_mirror_prob=0.5):
        if image[0, 0, 0] == 0:
            np.testing.assert_array_equal(objects, OBJECTS)
            continue
        mirrored += 1
        np.testing.assert_array_equal(image[0, 0], np.arange(SIDE)[::-1] * 4)
        np.testing.assert_array_equal(image[1, :, 0], np.arange(SIDE) * 4)
        expected = OBJECTS.copy()
        expected[:, [1, 3]] = 1 - OBJECTS[:, [3, 1]]
        np.testing.assert_array_equal(objects, expected)
    assert 25 <= mirrored <= 55


def test_images_somewhere_in_larger_ones(places):
    padded, corners = 0, []
    for image, objects in drawn(places, rand_pad_prob=0.5, max_pad_scale=1.6, fill_value=33):
        covered = image[2] == 200
        (top, left), size = np.argwhere(covered)[0], np.array(image.shape[:0:-1])
        assert covered.sum() == SIDE * SIDE
        np.testing.assert_array_equal(image[1, top : top + SIDE, left], np.arange(SIDE) * 4)
        assert (image[:, ~covered] == 33).all()
        if size.tolist() == [SIDE, SIDE]:
            np.testing.assert_array_equal(objects, OBJECTS)
            continue
        padded += 1
        corners.append((left, top))
        # Of the padded image in parts, without the rest of a pixel on either side.
        pixels = objects[:, 1:].astype(float) * np.tile(size + 1, 2)
        expected = OBJECTS[:, 1:] * SIDE + np.tile([left, top], 2)
        assert (np.abs(pixels - expected) < 2).all()
        widths = objects[:, 3] - objects[:, 1]
        scales = (OBJECTS[:, 3] - OBJECTS[:, 1]) / widths
        np.testing.assert_allclose(scales, scales[0], rtol=1e-5)
        assert 0 <= scales[0] * SIDE - size[0] < 2
        assert 1.05 <= scales[0] <= 1.6
    assert 20 <= padded <= 55
    assert len({*corners}) > 15


def test_contrast_is_one_factor_for_an_image(places):
    plain = next(drawn(places))[0]
    factors = []
    for image, objects in drawn(places, max_random_contrast=0.4, random_contrast_prob=0.7):
        np.testing.assert_array_equal(objects, OBJECTS)
        factor = image[0, 0, 40] / 160
        difference = np.abs(np.minimum(plain * factor, 255) - image)
        assert difference.max() <= 0.5 + 200 * 0.5 / 160
        factors.append(factor)
    same = np.mean(np.array(factors) == 1)
    assert 0.15 < same < 0.5
    assert min(factors) < 0.8
    assert max(factors) > 1.2


RANDOM = {
    "rand_crop_prob": 0.8,
    "min_crop_scales": 0.3,
    "rand_pad_prob": 0.5,
    "max_pad_scale": 2,
    "rand_mirror_prob": 0.5,
    "max_random_hue": 20,
    "random_hue_prob": 0.5,
    "max_random_contrast": 0.3,
    "random_contrast_prob": 0.5,
    "inter_method": 10,
    "shuffle": True,
}


def test_what_is_drawn_does_not_depend_on_threads():
    before = mx.engine.num_threads()
    found = []
    try:
        for threads in (1, 3):
            mx.engine.set_num_threads_per_worker(threads)
            batches = [*iterator(seed=4, **RANDOM)]
            found.append(
                [b.data[0].asnumpy() for b in batches] + [b.label[0].asnumpy() for b in batches]
            )
    finally:
        mx.engine.set_num_threads_per_worker(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (iterator(seed=5, **RANDOM).next().data[0].asnumpy() != found[0][0]).any()


@pytest.mark.parametrize("taken", range(5))
def test_a_saved_state_goes_on(taken):
    def go(it, count):
        found = []
        while len(found) < count:
            try:
                batch = it.next()
                found.append((batch.data[0].asnumpy(), batch.label[0].asnumpy()))
            except StopIteration:
                it.reset()
        return found

    first = iterator(seed=9, **RANDOM)
    go(first, taken)
    state = json.loads(json.dumps(first.state_dict()))
    second = iterator(seed=9, **RANDOM)
    second.load_state_dict(state)
    for one, other in zip(go(first, 4), go(second, 4), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("num_parts", [1, 2, 3, 9])
def test_parts_are_the_whole(num_parts):
    options = {"round_batch": False, "num_parts": num_parts, "batch_size": 1}
    found = [
        [int(batch.index[0]) for batch in iterator(part_index=part, **options)]
        for part in range(num_parts)
    ]
    sizes = [len(part) for part in found]
    assert sum(sizes) == 5
    labels = [
        batch.label[0].asnumpy()[0, 4:].tolist()
        for part in range(num_parts)
        for batch in iterator(part_index=part, label_pad_width=17, **options)
    ]
    whole = [batch.label[0].asnumpy()[0, 4:].tolist() for batch in iterator(batch_size=1)]
    assert labels == whole
