"""Batches of images from records, lists and files, decoded and augmented in Python."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import files, recordio
from .. import ndarray as nd
from ..error import FileFormatError, InvalidArgumentError
from ..io import DataBatch, DataIter
from ..io.order import LAST_BATCH
from ..io.params import SIZE
from ..ndarray import NDArray
from ..ops.param import Param, dtype_name
from .codec import imdecode
from .pipeline import CreateAugmenter
from .sources import labels, part, records

__all__ = ["Filling", "ImageIter"]

_log = logging.getLogger(__name__)

_SHAPE, _BOOL = Param("shape", low=1), Param("bool")
_LABELS = ("float32", "float64", "int32", "int64")


@dataclass
class Filling:
    """A batch that images are put into.

    Parameters
    ----------
    data, label
        Its arrays.
    count
        The images in it.
    pad
        How many it lacked when the epoch ended, or None as long as it goes on.
    """

    data: NDArray
    label: NDArray
    count: int = 0
    pad: int | None = None


class ImageIter(DataIter):
    """Batches of images from a RecordIO file, or from files that a list names.

    Decoding and augmenting are done in Python, image by image, so that they can be changed: by
    augmenters, or by overriding the methods. :class:`ferromix.io.ImageRecordIter` is faster.
    Augmenters and orders draw from Python's and NumPy's random numbers, as in MXNet.

    An image that cannot be read or decoded raises; the next call goes on with the one after it,
    and no other is lost. Without an index, nothing is read behind a record that is damaged itself.

    Parameters
    ----------
    batch_size
        Images per batch.
    data_shape
        (3, height, width) of the data.
    label_width
        Numbers in the label of an image.
    path_imgrec
        A RecordIO file of images.
    path_imglist
        A list: number, labels and path of an image in each line, with tabulators between. Beside a
        RecordIO file with an index, its labels replace those of the records.
    path_root
        The folder that the paths of a list start from.
    path_imgidx
        The index of the RecordIO file, which `shuffle` and `num_parts` need.
    shuffle
        Whether each epoch has an order of its own.
    part_index, num_parts
        Which of how many equal parts is read; what is left over is left out.
    aug_list
        Augmenters; None for those that ``**kwargs`` ask for.
    imglist
        A list in Python, of ``[label, path]``, where the label is a number or several.
    data_name, label_name
        What data and labels are called.
    dtype
        The type in which labels of lists are read: float32, float64, int32 or int64. Those of
        batches are float32.
    last_batch_handle
        ``"pad"`` fills the last batch up from the start and says so in its ``pad``; ``"discard"``
        drops it; ``"roll_over"`` puts its images in front of the next epoch, whose first batch
        counts as ``pad`` what is put behind them.
    **kwargs
        As for :func:`CreateAugmenter`.

    Attributes
    ----------
    seq : list or None
        The keys of the images, in the order of the epoch; None for records without an index.
    cur : int
        How many of them were read.
    imgrec : MXRecordIO or None
        The RecordIO file.
    imglist : dict or None
        Label and path by key.
    auglist : list
        The augmenters.

    Raises
    ------
    InvalidArgumentError
        For arguments that are none of these, or do not go together.
    FileAccessError
        If a file cannot be read.
    FileFormatError
        For a list that is malformed; from :meth:`next` for an image or record that is.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some.rec")
    >>> with mx.recordio.MXRecordIO(path, "w") as record:
    ...     for i in range(3):
    ...         header = mx.recordio.IRHeader(0, i, i, 0)
    ...         image = np.zeros((20, 30, 3), np.uint8)
    ...         record.write(mx.recordio.pack_img(header, image, 9, ".png"))
    >>> it = mx.image.ImageIter(2, (3, 16, 16), path_imgrec=path, rand_crop=True)
    >>> [(b.data[0].shape, b.label[0].asnumpy().tolist(), b.pad) for b in it]
    [((2, 3, 16, 16), [0.0, 1.0], 0), ((2, 3, 16, 16), [2.0, 0.0], 1)]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Any,
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Any = None,
        imglist: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        super().__init__(SIZE.parse(name, "batch_size", batch_size))
        self.label_width = SIZE.parse(name, "label_width", label_width)
        self.shuffle = _BOOL.parse(name, "shuffle", shuffle)
        self.last_batch_handle = _one_of(name, "last_batch_handle", last_batch_handle, LAST_BATCH)
        label_type = _one_of(name, "dtype", dtype_name(dtype), _LABELS)
        shape = _SHAPE.parse(name, "data_shape", data_shape)
        self.check_data_shape(shape)
        self.data_shape = shape
        self.provide_data = [(data_name, (self.batch_size, *shape))]
        width = () if self.label_width == 1 else (self.label_width,)
        self.provide_label = [(label_name, (self.batch_size, *width))]
        self.path_root = path_root
        self.imgrec, self.imgidx = records(path_imgrec, path_imgidx)
        self.imglist, keys = labels(name, path_imgrec, path_imglist, imglist, label_type)
        self.seq = part(name, keys if self.imgrec is None else self.imgidx, part_index, num_parts)
        if self.seq is None and self.shuffle:
            raise InvalidArgumentError(f"{name}: shuffle needs path_imgidx, the index of the file")
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist = CreateAugmenter(shape, **kwargs) if aug_list is None else aug_list
        self.cur = 0
        self._allow_read = True
        # What `next` left when it raised, or what rolls over.
        self._filling: Filling | None = None
        self.reset()

    def reset(self) -> None:
        """Starts the next epoch; images that roll over stay in front of it."""
        filling = self._filling
        self.hard_reset()
        if filling is not None and filling.pad and self.last_batch_handle == "roll_over":
            filling.count = self.batch_size - filling.pad
            self._filling = filling

    def hard_reset(self) -> None:
        """Starts an epoch without images that would roll over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True
        self._filling = None

    def next_sample(self) -> tuple[Any, bytes]:
        """Label and bytes of the next image.

        Raises
        ------
        StopIteration
            At the end of the epoch. The next call starts with the first image again, unless the
            last batch is discarded.
        """
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            return self._next_record()
        if self.num_image is None or self.cur >= self.num_image:
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, path = (self.imglist or {})[key]
            return label, self.read_image(path)
        with self._located():
            header, image = recordio.unpack(self.imgrec.read_idx(key))
        if self.imglist is None:
            return header.label, image
        if key not in self.imglist:
            raise InvalidArgumentError(f"{self._where()}: the list has no label for it")
        return self.imglist[key][0], image

    def _next_record(self) -> tuple[Any, bytes]:
        self.cur += 1
        with self._located():
            record = self.imgrec.read()
            if record is not None:
                header, image = recordio.unpack(record)
                return header.label, image
        self.cur -= 1
        if self.last_batch_handle != "discard":
            self.imgrec.reset()
            self.cur = 0
        raise StopIteration

    def _where(self) -> str:
        """What an error calls the image that was read last."""
        name = type(self).__name__
        if self.seq is None:
            return f"{name}: record {self.cur - 1} of {self.imgrec.uri}"
        if not 0 < self.cur <= len(self.seq):
            return name
        key = self.seq[self.cur - 1]
        if self.imgrec is not None:
            return f"{name}: record {key} of {self.imgrec.uri}"
        return f"{name}: image {(self.imglist or {})[key][1]!r}"

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Says of a malformed record or image which one it is."""
        try:
            yield
        except FileFormatError as error:
            raise FileFormatError(f"{self._where()}: {error}") from None

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        filling = self._filling or self._empty()
        self._filling = filling
        rolls = self.last_batch_handle == "roll_over"
        if filling.pad is None:
            self._fill(filling)
            if filling.count == 0 or (self.last_batch_handle == "discard" and self._lacks(filling)):
                self._filling = None
                raise StopIteration
            filling.pad = self._lacks(filling)
            if rolls and filling.pad:
                raise StopIteration
        if filling.pad:
            self._fill(filling)
            if rolls and self._lacks(filling):
                filling.pad = self._lacks(filling)
                raise StopIteration
            self._allow_read = rolls
        self._filling = None
        return DataBatch([filling.data], [filling.label], pad=filling.pad)

    def _lacks(self, filling: Filling) -> int:
        return self.batch_size - filling.count

    def _empty(self) -> Filling:
        """A batch without images."""
        return Filling(
            nd.zeros((self.batch_size, *self.data_shape)), nd.zeros(self.provide_label[0][1])
        )

    def _fill(self, filling: Filling) -> None:
        """Puts images into a batch, until it is full or the epoch ends."""
        while filling.count < self.batch_size:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            made = self._made(self.imdecode(encoded), label)
            if made is None:
                continue
            self._put(filling.data, filling.count, made[0], "data_shape")
            self._put(filling.label, filling.count, made[1], "label_width")
            filling.count += 1

    def _made(self, image: NDArray, label: Any) -> tuple[NDArray, Any] | None:
        """Data and label of an image; None for one that is to be skipped."""
        if not self._is_valid(image):
            return None
        return self.postprocess_data(self.augmentation_transform(image)), label

    def _is_valid(self, data: Any) -> bool:
        """Whether :meth:`check_valid_image` lets an image pass; if not, a log says why."""
        try:
            self.check_valid_image(data)
        except RuntimeError as error:
            self._skip(error)
            return False
        return True

    def _skip(self, why: Any) -> None:
        _log.debug("%s: skipped: %s", self._where(), why)

    def _put(self, batch: NDArray, number: int, values: Any, argument: str) -> None:
        try:
            batch[number] = values
        except ValueError as error:
            shape = getattr(values, "shape", None) or np.shape(values)
            raise InvalidArgumentError(
                f"{self._where()}: {argument} asks for the shape {batch.shape[1:]}, "
                f"got {shape}: {error}"
            ) from None

    def check_data_shape(self, data_shape: Any) -> None:
        """Refuses a shape of data that is not (3, height, width).

        Raises
        ------
        InvalidArgumentError
            For another shape.
        """
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise InvalidArgumentError(
                f"{type(self).__name__}: data_shape must be (3, height, width), got {data_shape!r}"
            )

    def check_valid_image(self, data: Any) -> None:
        """Raises a RuntimeError for an image that is to be skipped, which a log of debugging says.

        Parameters
        ----------
        data
            The image; :class:`ImageDetIter` gives a list with it.
        """
        if len(data[0].shape) == 0:
            raise RuntimeError("an image must have the shape (height, width, channels)")

    def imdecode(self, s: Any) -> NDArray:
        """The image in its file's bytes, as :func:`ferromix.image.imdecode` gives it.

        Raises
        ------
        FileFormatError
            Names the image that was read last.
        """
        with self._located():
            return imdecode(s)

    def read_image(self, fname: str) -> bytes:
        """The bytes of a file under `path_root`.

        Raises
        ------
        FileAccessError
            If it cannot be read.
        """
        return files.read(os.path.join(self.path_root or "", fname))

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image that all augmenters have changed."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image as it lies in the batch: of shape (channels, height, width)."""
        return nd.transpose(datum, axes=(2, 0, 1))


def _one_of(iterator: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    raise InvalidArgumentError(f"{iterator}: {name} must be one of {known}, got {value!r}")
