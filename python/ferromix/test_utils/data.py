"""Data sets for examples and tests. Nothing is downloaded: errors say which file belongs where."""

from __future__ import annotations

import bz2
import errno
import gzip
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..error import MissingFileError
from ..io import DataBatch, DataIter, MNISTIter, read_idx

__all__ = [
    "DummyIter",
    "download",
    "download_model",
    "get_bz2_data",
    "get_cifar10",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_zip_data",
]

Folder = str | os.PathLike[str]

_MNIST = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}


class DummyIter(DataIter):
    """An iterator that gives the first batch of another one without end, to measure speed."""

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.the_batch = real_iter.next()
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label

    def next(self) -> DataBatch:
        """The first batch."""
        return self.the_batch


def _missing(path: Folder, source: str = "") -> MissingFileError:
    advice = f"nothing is downloaded{f' from {source}' if source else ''}; put the file there"
    return MissingFileError(errno.ENOENT, f"no such file; {advice}", os.fspath(path))


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """The path of a file that was fetched before; nothing is downloaded.

    Parameters
    ----------
    url
        Where the file comes from; its last part is the file's name where `fname` is None.
    fname, dirname
        The file and its folder.
    overwrite, retries
        Of no use without a download.

    Raises
    ------
    MissingFileError
        If the file is not there; names it and where it comes from.
    """
    path = Path(dirname or "", fname or url.rstrip("/").rpartition("/")[2])
    if not path.is_file():
        raise _missing(path, url)
    return str(path)


def download_model(model_name: str, dst_dir: str = "./", meta_info: Any = None) -> tuple[str, int]:
    """The prefix and the epoch of a model that was fetched before: the latest of its files.

    Raises
    ------
    MissingFileError
        If there is none in `dst_dir`.
    """
    prefix = Path(dst_dir, model_name)
    epochs = [p.stem.rpartition("-")[2] for p in prefix.parent.glob(f"{prefix.name}-*.params")]
    numbers = [int(epoch) for epoch in epochs if epoch.isdigit()]
    if not numbers:
        raise _missing(f"{prefix}-0000.params")
    return str(prefix), max(numbers)


def _find(name: str) -> Path:
    """A file of MNIST, packed or not: in ``data``, or where ``gluon.data.vision.MNIST`` looks."""
    home = os.environ.get("MXNET_HOME") or os.path.join("~", ".mxnet")
    for folder in (Path("data"), Path(home).expanduser() / "datasets" / "mnist"):
        for ending in ("", ".gz"):
            if (folder / (name + ending)).is_file():
                return folder / (name + ending)
    raise _missing(Path("data", name))


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST as arrays: ``train_data``, ``train_label``, ``test_data`` and ``test_label``.

    Images have the shape ``(count, 1, 28, 28)`` and values from 0 to 1. The files are those of the
    data set, packed or not, in ``data`` or where ``gluon.data.vision.MNIST`` looks.

    Raises
    ------
    MissingFileError
        If they are not there; nothing is downloaded.
    """
    found: dict[str, np.ndarray] = {}
    for what, name in _MNIST.items():
        values = read_idx(_find(name))
        if what.endswith("data"):
            values = values[:, None].astype(np.float32) / np.float32(255)
        found[what] = values if what.endswith("data") else values.astype(np.int8)
    return found


def get_mnist_ubyte() -> None:
    """Has the files of MNIST unpacked in ``data``, from where they are.

    Raises
    ------
    MissingFileError
        If they are not there; nothing is downloaded.
    """
    for name in _MNIST.values():
        source, target = _find(name), Path("data", name)
        if not target.is_file():
            target.parent.mkdir(exist_ok=True)
            opened = gzip.open if source.suffix == ".gz" else open
            with opened(source, "rb") as packed, target.open("wb") as plain:
                shutil.copyfileobj(packed, plain)


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int = 1, part_index: int = 0
) -> tuple[MNISTIter, MNISTIter]:
    """Iterators over MNIST for training and for validation, as :func:`get_mnist_ubyte` finds it.

    Parameters
    ----------
    batch_size
        How many images a batch has.
    input_shape
        The shape of an image: one extent, or three.
    num_parts, part_index
        Into how many parts the images are split, and which one this is.
    """
    get_mnist_ubyte()
    common: dict[str, Any] = {
        "input_shape": tuple(input_shape),
        "flat": len(input_shape) == 1,
        "batch_size": batch_size,
        "num_parts": num_parts,
        "part_index": part_index,
    }
    images, labels = (Path("data", _MNIST[f"train_{kind}"]) for kind in ("data", "label"))
    train = MNISTIter(image=images, label=labels, shuffle=True, **common)
    images, labels = (Path("data", _MNIST[f"test_{kind}"]) for kind in ("data", "label"))
    return train, MNISTIter(image=images, label=labels, shuffle=False, **common)


def get_mnist_pkl() -> None:
    """Checks that ``data/mnist.pkl.gz`` is there; nothing is downloaded."""
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def get_cifar10() -> None:
    """Has the records of CIFAR-10 in ``data/cifar``, from ``data/cifar10.zip``."""
    folder = Path("data", "cifar")
    if not all((folder / f"{part}.rec").is_file() for part in ("train", "test")):
        get_zip_data("data", "http://data.mxnet.io/mxnet/data/cifar10.zip", "cifar10.zip")


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Unpacks an archive that is in `data_dir`; nothing is downloaded."""
    with zipfile.ZipFile(download(url, data_origin_name, data_dir)) as archive:
        archive.extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Has a file `data_name` in `data_dir`, unpacked where need be; nothing is downloaded."""
    target = Path(data_dir, data_name)
    if not target.is_file():
        source = download(url, data_origin_name, data_dir)
        with bz2.open(source, "rb") as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain)


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """The program that packs images into records; ``python -m ferromix.im2rec`` is the same."""
    return str(Path(__file__).resolve().parent.parent / "im2rec" / "__main__.py")
