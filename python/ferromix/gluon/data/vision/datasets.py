"""Data sets of images: the well-known ones from files that are there, RecordIO files, folders.

Nothing is downloaded; an error says which files belong where.
"""

from __future__ import annotations

import errno
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import base, image, recordio
from .... import ndarray as nd
from ....error import FileFormatError, MissingFileError
from ....files import access, read
from ....io import read_idx
from .. import dataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageRecordDataset",
]

Transform = Callable[[Any, Any], Any] | None
_EXTENSIONS = (".jpg", ".jpeg", ".png")


class _FileDataset(dataset.Dataset, ABC):
    """Images and labels that a few files in a folder hold."""

    _folder = ""
    """Its name in the folder of data sets."""

    def __init__(self, root: str | None, train: bool, transform: Transform) -> None:
        if root is None:
            root = os.path.join(base.data_dir(), "datasets", self._folder)
        self._root = os.path.expanduser(root)
        self._train = train
        self._transform = transform
        images, labels = self._load()
        self._data = nd.array(images, dtype=np.uint8)
        self._label = labels.astype(np.int32)

    def __getitem__(self, idx: Any) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)

    @abstractmethod
    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        """The images, of shape (count, height, width, channels), and the labels."""

    def _path(self, *names: str) -> str:
        """The first of several places that has a file."""
        paths = [os.path.join(self._root, name) for name in names]
        for path in paths:
            if os.path.exists(path):
                return path
        raise MissingFileError(
            errno.ENOENT,
            f"{type(self).__name__}: no such file; nothing is downloaded: put {' or '.join(names)} "
            f"into {self._root}, or say by root where it is",
            paths[0],
        )


class MNIST(_FileDataset):
    """The MNIST digits.

    A sample is an image, an NDArray of uint8 and shape (28, 28, 1), and its label, an int32.

    Parameters
    ----------
    root
        The folder with ``train-images-idx3-ubyte.gz``, ``train-labels-idx1-ubyte.gz``,
        ``t10k-images-idx3-ubyte.gz`` and ``t10k-labels-idx1-ubyte.gz``, gzipped or not; by default
        ``datasets/mnist`` in ``MXNET_HOME`` or ``~/.mxnet``.
    train
        Whether the images to train with, or those to test with.
    transform
        A function of image and label that makes the sample.

    Raises
    ------
    MissingFileError
        If a file is not there.
    FileFormatError
        For files that are not these.
    """

    _folder = "mnist"

    def __init__(
        self, root: str | None = None, train: bool = True, transform: Transform = None
    ) -> None:
        super().__init__(root, train, transform)

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        part = "train" if self._train else "t10k"
        names = [f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"]
        images, labels = (read_idx(self._path(f"{name}.gz", name)) for name in names)
        if images.ndim != 3 or images.dtype != np.uint8 or labels.shape != images.shape[:1]:
            raise FileFormatError(
                f"{self._root}: {names[0]} and {names[1]} must have as many images as labels, got "
                f"arrays of the shapes {images.shape} and {labels.shape}"
            )
        return images[..., None], labels


class FashionMNIST(MNIST):
    """Articles of fashion in the format of MNIST; by default in ``datasets/fashion-mnist``."""

    _folder = "fashion-mnist"


class CIFAR10(_FileDataset):
    """The CIFAR-10 images.

    A sample is an image, an NDArray of uint8 and shape (32, 32, 3), and its label, an int32.

    Parameters
    ----------
    root
        The folder with ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``, or with
        the folder of these that the archive has; by default ``datasets/cifar10`` in ``MXNET_HOME``
        or ``~/.mxnet``.
    train
        Whether the images to train with, or those to test with.
    transform
        A function of image and label that makes the sample.

    Raises
    ------
    MissingFileError
        If a file is not there.
    FileFormatError
        For files that are not these.
    """

    _folder = "cifar10"
    _archive = "cifar-10-batches-bin"
    _files = tuple(f"data_batch_{n}.bin" for n in range(1, 6)), ("test_batch.bin",)
    _labels = 1
    """Bytes in front of an image."""
    _label_at = 0

    def __init__(
        self, root: str | None = None, train: bool = True, transform: Transform = None
    ) -> None:
        super().__init__(root, train, transform)

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        names = self._files[0] if self._train else self._files[1]
        rows = np.concatenate([self._rows(name) for name in names])
        images = rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, rows[:, self._label_at]

    def _rows(self, name: str) -> np.ndarray:
        path = self._path(name, os.path.join(self._archive, name))
        data = np.frombuffer(read(path), np.uint8)
        width = self._labels + 3 * 32 * 32
        if data.size % width:
            raise FileFormatError(
                f"{path}: {data.size} bytes, which is no multiple of {width}, an image and its "
                "label"
            )
        return data.reshape(-1, width)


class CIFAR100(CIFAR10):
    """The CIFAR-100 images.

    Parameters
    ----------
    root
        The folder with ``train.bin`` and ``test.bin``; by default ``datasets/cifar100``.
    fine_label
        Whether the label is one of 100 classes, or one of their 20 groups.
    train, transform
        As for :class:`CIFAR10`.
    """

    _folder = "cifar100"
    _archive = "cifar-100-binary"
    _files = ("train.bin",), ("test.bin",)
    _labels = 2

    def __init__(
        self,
        root: str | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Transform = None,
    ) -> None:
        self._label_at = int(bool(fine_label))
        super().__init__(root, train, transform)


class ImageRecordDataset(dataset.RecordFileDataset):
    """The images of a RecordIO file.

    A sample is an image, an NDArray of uint8 and shape (height, width, channels), and its label, a
    float, or an array where the record has several.

    Parameters
    ----------
    filename
        The path; the index is beside it.
    flag
        1 for red, green and blue, 0 for gray.
    transform
        A function of image and label that makes the sample.
    """

    def __init__(
        self, filename: str | os.PathLike[str], flag: int = 1, transform: Transform = None
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: Any) -> Any:
        header, data = recordio.unpack(super().__getitem__(idx))
        sample = image.imdecode(data, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(dataset.Dataset):
    """The images of folders, one for each class: ``root/car/1.jpg``, ``root/bus/1.jpg``...

    A sample is an image, an NDArray of uint8 and shape (height, width, channels), and its label,
    the number of the folder.

    Parameters
    ----------
    root
        The folder of the folders. What is no folder there, and no image in these, is left out with
        a warning.
    flag
        1 for red, green and blue, 0 for gray.
    transform
        A function of image and label that makes the sample.

    Attributes
    ----------
    synsets : list of str
        The names of the folders; a label is an index of it.
    items : list of tuple
        Path and label of each image.

    Raises
    ------
    FileAccessError
        If a folder cannot be read.
    """

    def __init__(self, root: str, flag: int = 1, transform: Transform = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for name in _names(self._root):
            folder = os.path.join(self._root, name)
            if os.path.isdir(folder):
                self._add(folder, name)
            else:
                warnings.warn(f"{folder} is left out: it is no folder", stacklevel=2)

    def _add(self, folder: str, name: str) -> None:
        label = len(self.synsets)
        self.synsets.append(name)
        for file in _names(folder):
            path = os.path.join(folder, file)
            if os.path.splitext(file)[1].lower() in _EXTENSIONS:
                self.items.append((path, label))
            else:
                known = ", ".join(_EXTENSIONS)
                warnings.warn(f"{path} is left out: it ends with none of {known}", stacklevel=3)

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        sample = image.imread(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self.items)


def _names(folder: str) -> list[str]:
    with access(folder):
        return sorted(os.listdir(folder))
