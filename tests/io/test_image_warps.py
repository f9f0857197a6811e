"""Images turned, slanted, scaled and stretched, their hue and mean: MXNet's batches, and ranges."""

from __future__ import annotations

import colorsys
import json
import logging
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RECORDS = str(GOLDEN / "image_records" / "png.rec")
CASES = json.loads((GOLDEN / "image_warps" / "cases.json").read_text())
BATCHES = np.load(GOLDEN / "image_warps" / "batches.npz")


def iterator(**options):
    made = getattr(mx.io, options.pop("iterator", "ImageRecordIter"))
    settings = {"data_shape": (3, 16, 16), "batch_size": 5, "verbose": False, **options}
    return made(path_imgrec=RECORDS, **settings)


def samples(**options):
    return iterator(**options).next().data[0].asnumpy()


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda i: f"{i}-{'-'.join(map(str, CASES[i]))}"
)
def test_batches_are_those_of_mxnet(number, tmp_path):
    options = dict(CASES[number])
    path = tmp_path / "mean.bin"
    if options.get("mean_img"):
        options["mean_img"] = path
    found, expected = samples(**options), BATCHES[f"{number} data"]
    assert found.dtype == expected.dtype
    difference = np.abs(found.astype(float) - expected)
    assert difference.max() <= 1
    assert difference.mean() <= 0.02
    if path.exists():
        (name, mean), *_ = mx.nd.load(str(path)).items()
        assert name == "mean_img"
        np.testing.assert_allclose(mean.asnumpy(), BATCHES[f"{number} mean"], rtol=1e-6)
        np.testing.assert_array_equal(samples(**options), found)


RANDOM = {
    "max_rotate_angle": 40,
    "max_shear_ratio": 0.3,
    "min_random_scale": 0.7,
    "max_random_scale": 1.4,
    "max_aspect_ratio": 0.3,
    "random_h": 20,
    "random_s": 30,
    "random_l": 40,
    "rand_crop": True,
    "rand_mirror": True,
}


def test_what_is_drawn_depends_on_the_seed_and_the_epoch_alone():
    before = mx.engine.num_threads()
    found = []
    try:
        for threads in (1, 3):
            mx.engine.set_num_threads_per_worker(threads)
            it = iterator(seed=5, batch_size=2, round_batch=False, **RANDOM)
            for _ in range(2):
                found.append(np.concatenate([batch.data[0].asnumpy() for batch in it]))
                it.reset()
    finally:
        mx.engine.set_num_threads_per_worker(before)
    np.testing.assert_array_equal(found[:2], found[2:])
    assert (found[0] != found[1]).any()
    assert (samples(seed=5, **RANDOM) != samples(seed=6, **RANDOM)).any()


def test_random_angles_are_whole_degrees_within_the_range():
    turned = {angle: samples(rotate=angle) for angle in (1, 2, 358, 359)}
    turned[0] = samples()
    seen = set()
    it = iterator(max_rotate_angle=2, round_batch=False)
    for _ in range(12):
        for number, image in enumerate(it.next().data[0].asnumpy()):
            (angle,) = [a for a, images in turned.items() if (images[number] == image).all()]
            seen.add(angle)
        it.reset()
    assert seen == {0, 1, 2, 358, 359}


UNIT = np.float32([180, 255, 255])


def hls(pixels):
    """Of bytes, in whole half degrees and 255ths; in float32, where halves are rounded as here."""
    values = [colorsys.rgb_to_hls(*pixel) for pixel in pixels * np.float32(1 / 255)]
    return np.round(np.float32(values) * UNIT).astype(int)


def rgb(values):
    parts = values.astype(np.float32) * (1 / UNIT)
    return np.round(np.float32([colorsys.hls_to_rgb(*part) for part in parts]) * UNIT[1])


@pytest.mark.parametrize(
    ("name", "place", "limit", "most"),
    [("random_h", 0, 180, 8), ("random_l", 1, 255, 8), ("random_s", 2, 255, 8)],
)
def test_a_shift_of_hue_lightness_or_saturation_is_one_for_the_whole_image(
    name, place, limit, most
):
    plain = samples().transpose(0, 2, 3, 1).reshape(5, -1, 3)
    seen = set()
    it = iterator(**{name: most}, round_batch=False)
    for _ in range(8):
        for image, before in zip(it.next().data[0].asnumpy(), plain, strict=True):
            pixels = image.transpose(1, 2, 0).reshape(-1, 3)
            fits = []
            for shift in range(-most, most + 1):
                values = hls(before)
                values[:, place] = np.clip(values[:, place] + shift, 0, limit)
                fits.append((np.abs(rgb(values) - pixels).mean(), shift))
            error, shift = min(fits)
            assert error < 0.02
            seen.add(shift)
        it.reset()
    assert len(seen) > 8
    assert max(map(abs, seen)) < most


def test_hue_comes_behind_brightness_and_before_noise():
    """A range of 1 shifts by 0, but rounds to hue, lightness and saturation in 8 bits."""
    bright = samples(brightness=0.3).transpose(0, 2, 3, 1).reshape(-1, 3)
    found = samples(brightness=0.3, random_l=1).transpose(0, 2, 3, 1).reshape(-1, 3)
    assert np.abs(rgb(hls(bright)) - found).mean() < 0.02
    plain, found = samples(random_l=1), samples(pca_noise=0.15, random_l=1)
    noise = np.ma.masked_where((found == 0) | (found == 255), found - plain)
    np.testing.assert_array_equal(noise.max(axis=(2, 3)), noise.min(axis=(2, 3)))
    assert (noise != 0).any()


def test_a_shear_moves_rows_in_proportion_to_their_distance_from_the_middle(tmp_path):
    side, step = 40, 6
    ramp = np.broadcast_to(np.arange(side, dtype=np.uint8)[:, np.newaxis] * step, (side, side, 3))
    with mx.recordio.MXRecordIO(str(tmp_path / "ramp.rec"), "w") as records:
        image = np.ascontiguousarray(ramp)
        for i in range(20):
            header = mx.recordio.IRHeader(0, 0.0, i, 0)
            records.write(mx.recordio.pack_img(header, image, img_fmt=".png"))
    options = {"max_shear_ratio": 0.3, "batch_size": 20, "data_shape": (3, side, side)}
    it = mx.io.ImageRecordIter(path_imgrec=tmp_path / "ramp.rec", verbose=False, **options)
    rows, columns = np.mgrid[:side, :side]
    shears = []
    for sample in it.next().data[0].asnumpy()[:, 0]:
        shear = (sample[12, 20] - sample[28, 20]) / step / 16
        before = columns - shear * (rows - side // 2)
        inside = (before > 0.5) & (before < side - 1.5)
        # A 32nd of a pixel, and half a byte, at each end of what the shear is measured by.
        error = 2 * (step / 64 + 0.5)
        assert np.abs(sample - step * before)[inside].max() <= 2 * error
        shears.append(shear)
    assert -0.3 < min(shears) < -0.1
    assert 0.1 < max(shears) < 0.3


def test_half_of_the_range_of_a_scale_enlarges():
    """The one bright pixel of an image shows how large pixels became."""
    areas = []
    it = iterator(min_random_scale=1, max_random_scale=3, max_img_size=16, round_batch=False)
    plain = np.abs(np.diff(samples(max_img_size=16), axis=-1)).mean(axis=(1, 2, 3))
    for _ in range(20):
        found = np.abs(np.diff(it.next().data[0].asnumpy(), axis=-1)).mean(axis=(1, 2, 3))
        areas.append(plain / found)
        it.reset()
    scales = np.concatenate(areas)
    assert 0.95 < scales.min() < 1.2
    assert 1.4 < np.median(scales) < 2.6
    assert 2 < scales.max() < 5


def write(path, *shapes):
    mx.nd.save(str(path), {f"array{i}": mx.nd.ones(shape) for i, shape in enumerate(shapes)})
    return path


def test_a_mean_image_is_read_and_never_written_again(tmp_path, caplog):
    path = write(tmp_path / "mean.bin", (3, 16, 16))
    kept = path.read_bytes()
    with caplog.at_level(logging.INFO):
        found = samples(mean_img=path, mean_r=100, verbose=True)
    np.testing.assert_array_equal(found, samples() - 1)
    assert path.read_bytes() == kept
    assert f"loaded the mean image from {path}" in caplog.text
    np.testing.assert_array_equal(samples(mean_img=path, dtype="uint8"), samples(dtype="uint8"))


def test_a_mean_image_is_that_of_a_part(tmp_path):
    path = tmp_path / "mean.bin"
    index = str(GOLDEN / "image_records" / "png.idx")
    iterator(mean_img=path, num_parts=2, part_index=1, path_imgidx=index)
    (mean,) = mx.nd.load(str(path)).values()
    np.testing.assert_allclose(mean.asnumpy(), samples()[3:].mean(axis=0), rtol=1e-6)


def test_no_mean_image_is_written_of_a_part_without_images_or_a_damaged_one(tmp_path):
    path = tmp_path / "mean.bin"
    with pytest.raises(FileFormatError, match=r"mean\.bin: is not there, and this part has no im"):
        iterator(mean_img=path, num_parts=99, part_index=98)
    data = bytearray(Path(RECORDS).read_bytes())
    data[60:68] = b"\xff" * 8
    (tmp_path / "some.rec").write_bytes(data)
    options = {"data_shape": (3, 16, 16), "batch_size": 2, "mean_img": path}
    with pytest.raises(FileFormatError, match=r"some\.rec, record at byte 0: "):
        mx.io.ImageRecordIter(tmp_path / "some.rec", **options)
    assert not path.exists()


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(3, 16, 17)], r"found 1: \(3, 16, 17\)"),
        ([(3, 16, 16), (2,)], r"found 2: \(3, 16, 16\), \(2,\)"),
        ([], "found 0: none"),
    ],
)
def test_a_file_that_is_no_mean_image(shapes, words, tmp_path):
    path = write(tmp_path / "mean.bin", *shapes)
    with pytest.raises(FileFormatError, match=rf"mean\.bin: must have one array .*{words}"):
        iterator(mean_img=path)


def test_a_mean_image_that_cannot_be_read_or_written(tmp_path):
    (tmp_path / "mean.bin").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match=r"mean\.bin"):
        iterator(mean_img=tmp_path / "mean.bin")
    with pytest.raises(MissingFileError, match="no"):
        iterator(mean_img=tmp_path / "no" / "mean.bin")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_random_scale": 0}, "min_random_scale and max_random_scale must be above 0, got 0"),
        ({"max_random_scale": float("nan")}, "max_random_scale must be above 0"),
        ({"max_aspect_ratio": 2}, "ratios of width to height must be above -1, got -1"),
        ({"random_h": 3, "data_shape": (1, 16, 16)}, "random_h, random_s and random_l need 3"),
        ({"random_resized_crop": True, "rand_crop": True}, "rand_crop must be False, got True"),
        ({"random_resized_crop": True, "max_random_scale": 2}, "max_random_scale must be 1, got 2"),
        ({"aug_seq": "other"}, "aug_seq='other' is not there"),
        ({"rotate": 1.5}, "'rotate' must be an int"),
    ],
    ids=str,
)
def test_wrong_arguments(options, words):
    with pytest.raises(InvalidArgumentError, match=f"ImageRecordIter: .*{words}"):
        iterator(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"min_random_scale": 1e6, "max_random_scale": 1e6},
        {"min_random_scale": 1e-6, "max_random_scale": 1e-6},
        {"min_img_size": 1e8},
        {"max_img_size": 0.5},
    ],
    ids=str,
)
def test_images_of_no_pixels_or_too_many_are_errors_with_their_place(options):
    it = iterator(**options)
    with pytest.raises(InvalidArgumentError, match=r"png\.rec, record at byte 0: the image would"):
        it.next()
