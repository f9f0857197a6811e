"""Headers and images of records."""

from __future__ import annotations

import builtins
import importlib
import io
import struct

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, FileFormatError, InvalidArgumentError, MXNetError
from ferromix.recordio import IRHeader, pack, pack_img, unpack, unpack_img

HEADER = IRHeader(0, 3, 7, 8)


@pytest.mark.parametrize(
    ("header", "flag", "label"),
    [
        (IRHeader(0, 4, 7, 8), 0, 4.0),
        (IRHeader(5, 4.5, 7, 8), 0, 4.5),
        (IRHeader(-1, True, 7, 8), 0, 1.0),
        (IRHeader(0, np.int64(2), 7, 8), 0, 2.0),
        (IRHeader(0, 1e60, 7, 8), 0, np.inf),
        ((0, 4, 7, 8), 0, 4.0),
        (IRHeader(0, [], 7, 8), 0, 0.0),
        (IRHeader(9, np.arange(4), 7, 8), 4, [0, 1, 2, 3]),
        (IRHeader(0, np.array(3.0), 7, 8), 1, [3]),
        (IRHeader(0, np.ones((2, 2)), 7, 8), 4, [1, 1, 1, 1]),
        (IRHeader(0, "3", 7, 8), 1, [3]),
        (IRHeader(0, mx.nd.array([1, 2]), 7, 8), 2, [1, 2]),
    ],
    ids=[*"abcdefghijkl"],
)
def test_labels(header, flag, label):
    record = pack(header, b"data")
    head = struct.pack("<IfQQ", flag, 0 if flag else label, 7, 8)
    behind = np.array(label, "<f4").tobytes() if flag else b""
    assert record == head + behind + b"data"
    found, data = unpack(record)
    assert (found.flag, found.id, found.id2, data) == (flag, 7, 8, b"data")
    assert isinstance(found.label, np.ndarray if flag else float)
    np.testing.assert_array_equal(found.label, label)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (IRHeader(0, "x", 7, 8), "label must be a number or an array of numbers, got 'x'"),
        (IRHeader(0, {1: 2}, 7, 8), "label must be a number or an array of numbers"),
        (IRHeader(0, 1, -1, 8), "argument out of range"),
        (IRHeader(0, 1, 2**64, 8), "argument out of range"),
        (IRHeader(0, 1, 1.5, 8), "not an integer"),
        (IRHeader(0, 1j, 7, 8), "pack: IRHeader"),
        ((1, 2, 3), "must be an IRHeader or its four values"),
        (5, "must be an IRHeader or its four values"),
    ],
    ids=[*"abcdefgh"],
)
def test_unfit_headers(header, message):
    with pytest.raises(InvalidArgumentError, match=message):
        pack(header, b"")


def test_unfit_data():
    with pytest.raises(ArgumentTypeError, match="the data must be bytes, got str"):
        pack(HEADER, "text")
    with pytest.raises(ArgumentTypeError, match="a record must be bytes, got str"):
        unpack("text")
    with pytest.raises(FileFormatError, match="a header has 24 bytes, but the record has 3"):
        unpack(b"abc")
    with pytest.raises(FileFormatError, match="label of 5 numbers has 20 bytes, but 3 follow"):
        unpack(struct.pack("<IfQQ", 5, 0, 0, 0) + b"abc")
    assert pack(HEADER, bytearray(b"x")) == pack(HEADER, memoryview(b"x")) == pack(HEADER, b"x")


def test_images_in_png_survive():
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (5, 7, 3), (5, 7, 4)):
        image = rng.integers(0, 256, shape, np.uint8)
        header, found = unpack_img(pack_img(HEADER, image, 3, ".png"))
        assert (header, found.dtype) == (HEADER._replace(label=3.0), np.uint8)
        np.testing.assert_array_equal(found, image)
    grey = rng.integers(0, 256, (5, 7, 1), np.uint8)
    np.testing.assert_array_equal(unpack_img(pack_img(HEADER, grey, 3, ".png"))[1], grey[..., 0])
    deep = rng.integers(0, 2**16, (5, 7), np.uint16)
    np.testing.assert_array_equal(unpack_img(pack_img(HEADER, deep, 3, ".png"))[1], deep)
    floats = np.array([[-5, 0.4, 1.6, 300]])
    np.testing.assert_array_equal(
        unpack_img(pack_img(HEADER, floats, 3, ".PNG"))[1], [[0, 0, 2, 255]]
    )
    array = mx.nd.array([[1, 2]], dtype="uint8")
    np.testing.assert_array_equal(unpack_img(pack_img(HEADER, array, 3, ".png"))[1], [[1, 2]])


def test_blue_is_first():
    pillow = pytest.importorskip("PIL.Image")
    image = np.zeros((8, 8, 3), np.uint8)
    image[..., 0] = 255
    for kind in (".png", ".jpg", ".jpeg"):
        _, data = unpack(pack_img(HEADER, image, img_fmt=kind))
        red, green, blue = pillow.open(io.BytesIO(data)).getpixel((3, 3))
        assert (red < 5, green < 5, blue > 250) == (True, True, True)
        found = unpack_img(pack_img(HEADER, image, img_fmt=kind))[1]
        np.testing.assert_allclose(found, image, atol=5)


def test_jpeg_quality():
    x, y = np.mgrid[:64, :64]
    image = np.stack([4 * x, 4 * y, 2 * (x + y)], axis=2).astype(np.uint8)
    sizes = [len(pack_img(HEADER, image, quality)) for quality in (10, 50, 95)]
    assert sizes == sorted(sizes)
    found = unpack_img(pack_img(HEADER, image))[1]
    assert np.abs(found.astype(int) - image).mean() < 3


def test_channels_on_request():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (4, 6, 3), np.uint8)
    record = pack_img(HEADER, colour, 1, ".png")
    np.testing.assert_array_equal(unpack_img(record, 1)[1], colour)
    grey = unpack_img(record, 0)[1]
    np.testing.assert_allclose(grey, colour @ [0.114, 0.587, 0.299], atol=1)
    record = pack_img(HEADER, colour[..., 0], 1, ".png")
    np.testing.assert_array_equal(unpack_img(record, 1)[1], colour[..., :1].repeat(3, 2))


def test_what_is_up_counts_unless_the_image_is_asked_for_as_it_is():
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:, 16:] = 255
    image, out = pillow.fromarray(pixels), io.BytesIO()
    exif = image.getexif()
    exif[0x0112] = 3  # upside down
    image.save(out, "JPEG", exif=exif)
    record = pack(HEADER, out.getvalue())
    assert unpack_img(record, 1)[1][8, [4, 28], 0].tolist() == [255, 0]
    assert unpack_img(record, -1)[1][8, [4, 28], 0].tolist() == [0, 255]


@pytest.mark.parametrize(
    ("image", "kind", "message"),
    [
        (np.zeros((2, 2), np.uint8), ".xyz", "xyz"),
        (np.zeros((2, 2, 4), np.uint8), ".jpg", r"1, 3 channels for \.jpg, got uint8 of shape"),
        (np.zeros((2, 2, 3), np.int64), ".png", r"must be uint8 .* got int64 of shape \(2, 2, 3\)"),
        (np.zeros((0, 2, 3), np.uint8), ".png", "must be uint8"),
        (np.zeros(3, np.uint8), ".png", "must be uint8"),
        ([[1, 2]], ".png", "img must be an array, got list"),
        (np.zeros((2, 2), np.uint8), 5, "img_fmt must be text, got int"),
    ],
    ids=["format", "opacity", "int64", "empty", "line", "list", "int"],
)
def test_unfit_images(image, kind, message):
    with pytest.raises(InvalidArgumentError, match=message):
        pack_img(HEADER, image, 9, kind)


def test_data_that_are_no_image():
    good = unpack(pack_img(HEADER, np.zeros((30, 30, 3), np.uint8), 3, ".png"))[1]
    for data in (b"", b"no image at all", good[: len(good) // 2]):
        with pytest.raises(FileFormatError, match=f"{len(data)} bytes that begin with"):
            unpack_img(pack(HEADER, data))


def test_without_opencv_and_pillow(monkeypatch):
    def absent(name, *args, **kwargs):
        if name.split(".")[0] in ("cv2", "PIL"):
            raise ImportError(name)
        return importlib.__import__(name, *args, **kwargs)

    image = np.zeros((2, 2), np.uint8)
    record = pack_img(HEADER, image, 3, ".png")
    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.setattr(importlib, "import_module", absent)
    for act in (lambda: pack_img(HEADER, image), lambda: unpack_img(record)):
        with pytest.raises(MXNetError, match=r"needs OpenCV or Pillow, .* pip install opencv"):
            act()
