"""Handwritten digits for the examples: where they come from and how they fall into two sets.

All examples read idx files, the format of MNIST, through ``mx.io.MNISTIter``. Without a folder of
such files they use the 1,797 digits of the UCI repository that scikit-learn carries, enlarged
from 8 x 8 to 32 x 32 pixels and written as idx files once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ferromix as mx

HELD_OUT_MNIST = 2000
"""How many of the 10,000 images of ``t10k`` are held out when there are no others."""


class Pair(NamedTuple):
    """A file of images and the file of their labels."""

    images: Path
    labels: Path


class Digits(NamedTuple):
    """What to train on, and what to score on."""

    train: Pair
    validation: Pair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`find` needs."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder of MNIST's idx files, gzipped or not (default: the UCI digits)",
    )


def find(data: Path | None, cache: Path) -> Digits:
    """The digits in the folder `data`, or the UCI digits; files are made in `cache` where needed.

    A folder that has only the ``t10k`` files of MNIST is split: the last 2,000 images are held
    out, the rest is for training.
    """
    if data is None:
        return _uci(cache / "uci-digits")
    train, test = _pair_in(data, "train"), _pair_in(data, "t10k")
    if test is None:
        raise SystemExit(f"{data} has no t10k-images-idx3-ubyte[.gz] with its labels")
    return Digits(train, test) if train else _split(test, cache / "mnist-split")


def iterators(
    digits: Digits,
    batch_size: int,
    flat: bool = False,
    seed: int = 0,
    part: tuple[int, int] = (0, 1),
) -> tuple[mx.io.MNISTIter, mx.io.MNISTIter]:
    """Shuffled batches for training, and batches that cover every image held out.

    `part` is which part of how many the training has, where processes share the images.
    """
    train = mx.io.MNISTIter(
        *digits.train,
        batch_size=batch_size,
        shuffle=True,
        flat=flat,
        seed=seed,
        silent=True,
        part_index=part[0],
        num_parts=part[1],
    )
    validation = mx.io.MNISTIter(
        *digits.validation,
        batch_size=batch_size,
        shuffle=False,
        flat=flat,
        silent=True,
        round_batch=True,
    )
    return train, validation


def score(executor: mx.Executor, validation: mx.io.MNISTIter) -> float:
    """The share of the held-out digits that the network gets right."""
    accuracy = mx.metric.Accuracy()
    validation.reset()
    for batch in validation:
        executor.forward(is_train=False, data=batch.data[0])
        # The last batch is filled up with images that were counted already.
        real = validation.batch_size - (batch.pad or 0)
        accuracy.update([batch.label[0][:real]], [executor.outputs[0][:real]])
    return dict(accuracy.get_name_value())["accuracy"]


def _pair_in(folder: Path, stem: str) -> Pair | None:
    found = []
    for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        plain = folder / f"{stem}-{kind}"
        zipped = plain.with_name(plain.name + ".gz")
        found += [path for path in (plain, zipped) if path.exists()][:1]
    return Pair(*found) if len(found) == 2 else None


def _split(pair: Pair, folder: Path) -> Digits:
    images, labels = mx.io.read_idx(pair.images), mx.io.read_idx(pair.labels)
    held_out = np.arange(len(images)) >= len(images) - HELD_OUT_MNIST
    return _write(folder, images, labels, held_out)


def _uci(folder: Path) -> Digits:
    digits = _paths(folder)
    if all(path.exists() for pair in digits for path in pair):
        return digits
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit(
            "without --data the digits of scikit-learn are needed, which is not installed: "
            "pip install 'ferromix[examples]'"
        ) from None

    source: Any = load_digits()
    images = (source.images * 15).astype(np.uint8)  # 0..16 becomes 0..240
    images = images.repeat(4, axis=1).repeat(4, axis=2)
    # Neighbours come from one writer, so every fifth digit is held out rather than the last ones.
    held_out = np.arange(len(images)) % 5 == 4
    return _write(folder, images, source.target.astype(np.uint8), held_out)


def _paths(folder: Path) -> Digits:
    pairs = (
        Pair(folder / f"{stem}-images-idx3-ubyte", folder / f"{stem}-labels-idx1-ubyte")
        for stem in ("train", "validation")
    )
    return Digits(*pairs)


def _write(folder: Path, images: np.ndarray, labels: np.ndarray, held_out: np.ndarray) -> Digits:
    folder.mkdir(parents=True, exist_ok=True)
    digits = _paths(folder)
    for pair, chosen in zip(digits, (~held_out, held_out), strict=True):
        mx.io.write_idx(pair.images, images[chosen])
        mx.io.write_idx(pair.labels, labels[chosen])
    return digits
