"""Images: what is refused and how, and what the parts promise; values are in test_image_golden."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError

image = mx.image
FOLDER = Path(__file__).resolve().parents[1] / "golden" / "image"
PNG = (FOLDER / "rgb.png").read_bytes()


def sample(rows=5, columns=4, channels=3, dtype="uint8"):
    values = np.random.default_rng(0).integers(0, 256, (rows, columns, channels))
    return mx.nd.array(values, dtype=dtype)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, "numpy", "nd"])
def test_bytes_of_all_kinds(wrap):
    array = np.frombuffer(PNG, np.uint8)
    if wrap == "numpy":
        given = array
    else:
        given = mx.nd.array(array, dtype="uint8") if wrap == "nd" else wrap(PNG)
    assert image.imdecode(given).shape == (37, 53, 3)


def test_order_of_colours_and_out():
    found = image.imdecode(PNG).asnumpy()
    np.testing.assert_array_equal(image.imdecode(PNG, to_rgb=False).asnumpy(), found[..., ::-1])
    np.testing.assert_array_equal(image.imdecode(PNG, to_rgb="0").asnumpy(), found[..., ::-1])
    out = mx.nd.zeros((37, 53, 3), dtype="uint8")
    assert image.imdecode(PNG, 1, True, out) is out
    np.testing.assert_array_equal(out.asnumpy(), found)
    assert image.imdecode(PNG, flag="0").shape == (37, 53, 1)


def test_what_is_no_image():
    for given in ("text", 3, None, np.zeros(3)):
        with pytest.raises(TypeError, match="imdecode: buf must be bytes"):
            image.imdecode(given)
    for data in (b"", b"GIF89a", PNG[:-20], PNG[:8]):
        with pytest.raises(FileFormatError, match="imdecode: "):
            image.imdecode(data)
    with pytest.raises(InvalidArgumentError, match="attribute 'flag' must be"):
        image.imdecode(PNG, flag=-1)


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.png"):
        image.imread(tmp_path / "nothing.png")
    (tmp_path / "cut.png").write_bytes(PNG[:200])
    with pytest.raises(FileFormatError, match=r"cut\.png: "):
        image.imread(str(tmp_path / "cut.png"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"values": (1, 2, 3)}, [1, 2, 3]),
        ({"values": (5,)}, [5, 0, 0]),
        ({"values": (1, 2, 3, 4)}, [1, 2, 3]),
        ({"value": 7}, [7, 7, 7]),
        ({"values": (300, -5, 1.7)}, [255, 0, 2]),
    ],
)
def test_constants_of_borders_are_those_of_opencv(options, expected):
    pixel = mx.nd.ones((1, 1, 3), dtype="uint8")
    for kind in (0, 16):
        found = image.copyMakeBorder(pixel, 0, 0, 1, 0, kind, **options)
        assert found.asnumpy().tolist() == [[expected, [1, 1, 1]]]
    for kind in range(5):
        apart = [image.copyMakeBorder(sample(), 1, 2, 3, 1, k).asnumpy() for k in (kind, kind + 16)]
        np.testing.assert_array_equal(*apart)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: image.imresize(sample(), 0, 2), "imresize: attribute 'w' must be .* got 0"),
        (lambda: image.imresize(sample(), 2, 2, 9), "'interp' must be .* got 9"),
        (lambda: image.imresize(sample(dtype="int32"), 2, 2), "got int32"),
        (lambda: image.imresize(mx.nd.ones((2, 2)), 2, 2), r"got \(2, 2\)"),
        (lambda: image.imresize(mx.nd.ones((0, 2, 1)), 2, 2), r"got \(0, 2, 1\)"),
        (
            lambda: image.copyMakeBorder(sample(), -1, 0, 0, 0),
            "'top' must be .* got -1",
        ),
        (lambda: image.copyMakeBorder(sample(), 1, 0, 0, 0, type=5), "'type' must be .* got 5"),
        (lambda: image.copyMakeBorder(sample(), 1, 0, 0, 0, type=21), "'type' must be .* got 21"),
        (lambda: image.resize_short(sample(), 3, interp=11), "got 11"),
        (lambda: image.CreateAugmenter((3, 2, 2), rand_resize=True), "needs rand_crop"),
        (lambda: image.CreateAugmenter((3, 2, 2), mean=[1, 2]), "mean must be"),
        (lambda: image.imrotate(mx.nd.ones((3, 2, 2)), 1, True, True), "cannot both"),
        (lambda: image.imrotate(mx.nd.ones((2, 2)), 1), r"got \(2, 2\)"),
        (lambda: image.imrotate(mx.nd.ones((2, 3, 2, 2)), mx.nd.ones((3,))), "2 images"),
    ],
)
def test_errors_say_what_is_wrong(act, said):
    with pytest.raises(mx.MXNetError, match=said):
        act()


def test_types_of_turned_images():
    with pytest.raises(TypeError, match="must be float32, got uint8"):
        image.imrotate(sample(), 10)
    with pytest.raises(TypeError, match="must be a number"):
        image.imrotate(mx.nd.ones((3, 2, 2)), mx.nd.array([1]))


def test_a_batch_is_turned_image_by_image():
    batch = mx.nd.random.uniform(shape=(2, 3, 6, 5))
    found = image.imrotate(batch, mx.nd.array([10, -50])).asnumpy()
    for i, angle in enumerate((10, -50)):
        alone = image.imrotate(batch[i], angle).asnumpy()
        np.testing.assert_allclose(found[i], alone, atol=1e-5)
    assert image.random_rotate(batch, (0, 5)).shape == batch.shape


def test_integers_may_be_texts():
    np.testing.assert_array_equal(
        image.imresize(sample(), "3", "2").asnumpy(), image.imresize(sample(), 3, 2).asnumpy()
    )


def test_parts_are_where_they_say():
    whole = sample(20, 30)
    random.seed(3)
    for size in ((7, 5), (30, 20), (60, 10)):
        part, (left, top, width, height) = image.random_crop(whole, size)
        assert part.shape == (size[1], size[0], 3)
        if (width, height) == size:
            expected = whole.asnumpy()[top : top + height, left : left + width]
            np.testing.assert_array_equal(part.asnumpy(), expected)
    part, place = image.random_size_crop(whole, (4, 4), (0.2, 0.5), (0.5, 2))
    assert part.shape == (4, 4, 3)
    assert 0.15 < place[2] * place[3] / 600 < 0.55
    with pytest.warns(DeprecationWarning, match="min_area"):
        image.random_size_crop(whole, (4, 4), 0.1, (0.5, 2), min_area=0.9)
    with pytest.warns(DeprecationWarning, match="min_area"):
        assert image.RandomSizedCropAug((4, 4), 0.1, (0.5, 2), min_area=0.9).area == 0.9


def test_augmenters_describe_themselves():
    sequence = image.SequentialAug([image.CastAug("float16"), image.HorizontalFlipAug(1)])
    assert sequence.dumps() == [
        "sequentialaug",
        ['["castaug", {"type": "float16"}]', '["horizontalflipaug", {"p": 1}]'],
    ]
    found = sequence(sample()).asnumpy()
    np.testing.assert_array_equal(found, sample().asnumpy()[:, ::-1].astype("float16"))
    lighting = image.LightingAug(0.1, np.ones(3), np.eye(3))
    assert '"eigvec": [[1.0, 0.0, 0.0]' in lighting.dumps()


def test_gray_and_the_order_of_channels():
    gray = image.RandomGrayAug(1)(sample(dtype="float32")).asnumpy()
    expected = sample().asnumpy() @ np.array([0.21, 0.72, 0.07])
    np.testing.assert_allclose(gray, np.repeat(expected[..., None], 3, -1), rtol=1e-5)
    same = image.HueJitterAug(0)(sample(dtype="float32")).asnumpy()
    np.testing.assert_allclose(same, sample().asnumpy(), atol=0.6)
