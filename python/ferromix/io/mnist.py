"""Batches of images in the format of the MNIST digits."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..error import FileFormatError, InvalidArgumentError
from ..ndarray import array
from ..ops.param import Param, Params
from .idx import read_idx
from .iterator import DataBatch
from .native import CONTEXT, MXDataIter, ignore
from .order import EpochOrder
from .params import INT, SIZE, read

__all__ = ["MNISTIter"]

_log = logging.getLogger(__name__)

_PARAMS: Params = {
    "batch_size": SIZE,
    "shuffle": Param("bool"),
    "flat": Param("bool"),
    "seed": Param("int", low=-(2**31), high=2**64 - 1),
    "silent": Param("bool"),
    "num_parts": INT,
    "part_index": INT,
    "input_shape": Param("shape", optional=True, low=0),
    "round_batch": Param("bool"),
    "dtype": Param("dtype", optional=True),
    "prefetch_buffer": INT,
    "ctx": CONTEXT,
}


class MNISTIter(MXDataIter):
    """Batches of grey images and their classes, from a pair of idx files, gzipped or not.

    Batches are (batch_size, 1, rows, columns), or (batch_size, rows * columns) when flat; pixels
    are divided by 256. Labels are (batch_size,). Every parameter may also be given as a string.

    Parameters
    ----------
    image, label
        Paths of the two files.
    batch_size
        Samples per batch.
    shuffle
        Whether each epoch has its own order.
    flat
        Whether each image is a row of numbers.
    seed
        The orders of a shuffling iterator; they depend on it, the epoch and the part only.
    silent
        Whether to say nothing of what was loaded.
    num_parts, part_index
        Read only part `part_index` of `num_parts` parts of nearly equal size.
    input_shape
        The shape of one sample, where it is to be another than the above.
    round_batch
        Whether the last batch is filled up from the start of the epoch, with its ``pad`` saying
        by how many; otherwise samples that do not fill a batch are left out.
    dtype
        The element type of data and labels.
    data_name, label_name
        The names of the variables to feed.
    prefetch_buffer, ctx
        Accepted as in MXNet; the images are in memory, so there is nothing to fetch ahead.
    **others
        Ignored as in MXNet, where they are for other iterators, with a warning in the log.

    Raises
    ------
    FileFormatError
        For files that are not idx, or that do not fit together.
    InvalidArgumentError
        For an unfit part or shape.
    """

    def __init__(
        self,
        image: str | os.PathLike[str] = "./train-images-idx3-ubyte",
        label: str | os.PathLike[str] = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        input_shape: Sequence[int] | None = None,
        round_batch: bool = False,
        dtype: Any = "float32",
        data_name: str = "data",
        label_name: str = "softmax_label",
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        **others: Any,
    ) -> None:
        given = {
            "batch_size": batch_size,
            "shuffle": shuffle,
            "flat": flat,
            "seed": seed,
            "silent": silent,
            "num_parts": num_parts,
            "part_index": part_index,
            "input_shape": input_shape,
            "round_batch": round_batch,
            "dtype": dtype,
            "prefetch_buffer": prefetch_buffer,
            "ctx": ctx,
        }
        typed = read("MNISTIter", _PARAMS, given)
        # A negative seed is the unsigned one of the same 32 bits.
        seed = typed["seed"] if typed["seed"] >= 0 else typed["seed"] % 2**32
        images, labels = _read_pair(image, label)
        part = _part(len(images), typed["num_parts"], typed["part_index"])
        shape = _sample_shape(images.shape[1:], typed["flat"], typed["input_shape"])
        last_batch = "pad" if typed["round_batch"] else "discard"
        order = EpochOrder(
            part.stop - part.start, typed["batch_size"], typed["shuffle"], seed, last_batch
        )
        digits = images[part].reshape(order.count, *shape), labels[part]
        feed = _Digits(*digits, order, typed["dtype"] or "float32")
        super().__init__(feed, data_name, label_name)
        self.num_data = order.count
        ignore("MNISTIter", others)
        if not typed["silent"]:
            _log.info(
                "MNISTIter: %d images from %s, shuffle=%s, batches of shape %s",
                order.count,
                os.fspath(image),
                typed["shuffle"],
                feed.data_shape,
            )


class _Digits:
    """Batches of images and labels in memory, in the order of each epoch."""

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, order: EpochOrder, dtype: str
    ) -> None:
        self._images = images
        self._labels = labels
        self._order = order
        self.batch_size = order.batch_size
        self.data_shape = (order.batch_size, *images.shape[1:])
        self.label_shape = (order.batch_size,)
        self.dtype = dtype
        self.reset = order.reset
        self.state_dict = order.state_dict
        self.load_state_dict = order.load_state_dict

    def next(self) -> DataBatch | None:
        batch = self._order.next()
        if batch is None:
            return None
        rows, pad = batch
        data = array(self._images[rows] * np.float32(1 / 256), dtype=self.dtype)
        label = array(self._labels[rows], dtype=self.dtype)
        return DataBatch([data], [label], pad, rows)


def _read_pair(
    image: str | os.PathLike[str], label: str | os.PathLike[str]
) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(image), read_idx(label)
    for path, found, ndim, what in ((image, images, 3, "images"), (label, labels, 1, "labels")):
        if found.ndim != ndim or found.dtype != np.uint8:
            raise FileFormatError(
                f"{os.fspath(path)}: {what} must be {ndim}-dimensional unsigned bytes, "
                f"found shape {found.shape} of {found.dtype}"
            )
    if len(images) != len(labels):
        raise FileFormatError(
            f"{os.fspath(image)} has {len(images)} images, "
            f"but {os.fspath(label)} has {len(labels)} labels"
        )
    return images, labels


def _part(count: int, num_parts: int, part_index: int) -> slice:
    if not 0 <= part_index < num_parts:
        raise InvalidArgumentError(
            f"MNISTIter: part_index must be in [0, num_parts), got {part_index} of {num_parts}"
        )
    return slice(count * part_index // num_parts, count * (part_index + 1) // num_parts)


def _sample_shape(
    image: tuple[int, ...], flat: bool, input_shape: tuple[int, ...] | None
) -> tuple[int, ...]:
    if not input_shape:
        return (math.prod(image),) if flat else (1, *image)
    if math.prod(input_shape) != math.prod(image):
        raise InvalidArgumentError(
            f"MNISTIter: input_shape {input_shape} has {math.prod(input_shape)} elements, "
            f"but an image of {image} has {math.prod(image)}"
        )
    return input_shape
