"""Data sets of images beside the arrays that their files were written from."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileAccessError, FileFormatError, MissingFileError

vision = mx.gluon.data.vision
PIL = pytest.importorskip("PIL.Image")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("make", [vision.MNIST, vision.FashionMNIST])
@pytest.mark.parametrize("packed", [True, False])
def test_digits(tmp_path, monkeypatch, rng, make, packed):
    images = {"train": rng.integers(0, 256, (7, 28, 28), np.uint8)}
    images["t10k"] = images["train"][:3]
    folder = tmp_path / "datasets" / ("mnist" if make is vision.MNIST else "fashion-mnist")
    folder.mkdir(parents=True)
    for part, pixels in images.items():
        labels = np.arange(len(pixels), dtype=np.uint8)
        for name, array in (("images-idx3", pixels), ("labels-idx1", labels)):
            path = folder / f"{part}-{name}-ubyte"
            mx.io.write_idx(path, array)
            if packed:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
                path.unlink()
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    for train, part in ((True, "train"), (False, "t10k")):
        for samples in (make(train=train), make(str(folder), train)):
            assert len(samples) == len(images[part])
            image, label = samples[2]
            assert (image.shape, image.dtype) == ((28, 28, 1), np.uint8)
            assert (label, label.dtype) == (2, np.int32)
            np.testing.assert_array_equal(image.asnumpy()[..., 0], images[part][2])
    samples = make(train=False, transform=lambda x, y: (x.astype("float32") / 255, -y))
    x, y = next(iter(mx.gluon.data.DataLoader(samples, 3)))
    np.testing.assert_allclose(x.asnumpy()[..., 0], images["t10k"] / np.float32(255), rtol=1e-6)
    assert y.asnumpy().tolist() == [0, -1, -2]
    with pytest.raises(IndexError):
        samples[3]


def test_digits_that_are_not_there_or_no_digits(tmp_path):
    with pytest.raises(
        MissingFileError,
        match=r"MNIST: no such file; nothing is downloaded: put train-images-idx3-ubyte.gz or "
        r"train-images-idx3-ubyte into .*nowhere, or say by root where it is",
    ) as caught:
        vision.MNIST(str(tmp_path / "nowhere"))
    assert isinstance(caught.value, FileNotFoundError)
    assert not (tmp_path / "nowhere").exists()
    mx.io.write_idx(tmp_path / "t10k-images-idx3-ubyte", np.zeros((3, 2, 2), np.uint8))
    mx.io.write_idx(tmp_path / "t10k-labels-idx1-ubyte", np.zeros(4, np.uint8))
    with pytest.raises(FileFormatError, match=r"\(3, 2, 2\) and \(4,\)"):
        vision.MNIST(str(tmp_path), train=False)


def cifar(folder, name, labels, pixels):
    rows = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(np.concatenate([labels, rows], axis=1).astype(np.uint8).tobytes())


@pytest.mark.parametrize("below", ["", "cifar-10-batches-bin"])
def test_cifar10(tmp_path, rng, below):
    pixels = rng.integers(0, 256, (12, 32, 32, 3), np.uint8)
    labels = np.arange(12)[:, None] % 10
    for n in range(5):
        part = slice(2 * n, 2 * n + 2)
        cifar(tmp_path / below, f"data_batch_{n + 1}.bin", labels[part], pixels[part])
    cifar(tmp_path / below, "test_batch.bin", labels[10:], pixels[10:])
    for train, part in ((True, slice(0, 10)), (False, slice(10, 12))):
        samples = vision.CIFAR10(str(tmp_path), train)
        assert len(samples) == part.stop - part.start
        for (image, label), one, number in zip(samples, pixels[part], labels[part], strict=True):
            assert (label, label.dtype, image.dtype) == (number[0], np.int32, np.uint8)
            np.testing.assert_array_equal(image.asnumpy(), one)


def test_cifar100_has_two_labels(tmp_path, rng):
    pixels = rng.integers(0, 256, (4, 32, 32, 3), np.uint8)
    labels = np.array([[1, 11], [2, 22], [3, 33], [19, 99]])
    cifar(tmp_path, "train.bin", labels, pixels)
    for fine in (False, True):
        samples = vision.CIFAR100(str(tmp_path), fine)
        assert [int(label) for _, label in samples] == labels[:, int(fine)].tolist()
        np.testing.assert_array_equal(samples[3][0].asnumpy(), pixels[3])
    with pytest.raises(MissingFileError, match=r"CIFAR100: no such file; .* test.bin or cifar-100"):
        vision.CIFAR100(str(tmp_path), train=False)
    (tmp_path / "test.bin").write_bytes(bytes(3075))
    with pytest.raises(FileFormatError, match="3075 bytes, which is no multiple of 3074"):
        vision.CIFAR100(str(tmp_path), train=False)


def test_images_of_a_record_file(tmp_path, rng):
    pixels = rng.integers(0, 256, (3, 5, 6, 3), np.uint8)
    with mx.recordio.MXIndexedRecordIO(
        str(tmp_path / "some.idx"), str(tmp_path / "some.rec"), "w"
    ) as record:
        for number, image in enumerate(pixels):
            label = number if number else [1, 2.5]
            header = mx.recordio.IRHeader(0, label, number, 0)
            record.write_idx(number, mx.recordio.pack_img(header, image, 9, ".png"))
    samples = vision.ImageRecordDataset(str(tmp_path / "some.rec"))
    assert len(samples) == 3
    image, label = samples[2]
    assert (label, image.dtype) == (2.0, np.uint8)
    np.testing.assert_array_equal(image.asnumpy(), pixels[2, ..., ::-1])  # it was blue, green, red
    assert samples[0][1].tolist() == [1, 2.5]
    gray = vision.ImageRecordDataset(tmp_path / "some.rec", 0, lambda image, label: image.shape)
    assert gray[1] == (5, 6, 1)


def test_images_of_folders(tmp_path, rng):
    pixels = rng.integers(0, 256, (3, 5, 6, 3), np.uint8)
    for path, one in zip(("car/b.png", "car/a.PNG", "bus/1.png"), pixels, strict=True):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        PIL.fromarray(one).save(tmp_path / path, "png")
    samples = vision.ImageFolderDataset(str(tmp_path))
    assert samples.synsets == ["bus", "car"]
    names = [(os.path.relpath(path, tmp_path), label) for path, label in samples.items]
    assert names == [("bus/1.png", 0), ("car/a.PNG", 1), ("car/b.png", 1)]
    for (image, label), number, expected in zip(samples, (2, 1, 0), (0, 1, 1), strict=True):
        np.testing.assert_array_equal(image.asnumpy(), pixels[number])
        assert label == expected
    gray = vision.ImageFolderDataset(str(tmp_path), 0, lambda image, label: image.shape)
    assert gray[0] == (5, 6, 1)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "bus" / "notes.txt").touch()
    with pytest.warns(UserWarning, match="is left out") as told:
        assert len(vision.ImageFolderDataset(str(tmp_path))) == 3
    assert [str(warning.message) for warning in told] == [
        f"{tmp_path}/bus/notes.txt is left out: it ends with none of .jpg, .jpeg, .png",
        f"{tmp_path}/notes.txt is left out: it is no folder",
    ]
    assert {warning.filename for warning in told} == {__file__}
    with pytest.raises(FileAccessError):
        vision.ImageFolderDataset(str(tmp_path / "nowhere"))
