"""Batches of images and of the boxes of objects in them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...error import ArgumentTypeError, FileFormatError, InvalidArgumentError, MXNetError
from ...ndarray import NDArray
from ...ops.param import Param
from ..iterator import Filling, ImageIter
from ..pipeline import channels
from . import draw
from .label import has_object, objects
from .pipeline import CreateDetAugmenter

__all__ = ["ImageDetIter"]

_log = logging.getLogger(__name__)

_SHAPE = Param("shape", low=1)


class ImageDetIter(ImageIter):
    """Batches of images for detection, with the classes and boxes of objects.

    The label of an image, in a record or a list, is a row of numbers: how many there are in front
    of the objects, these two included; how many each object has, at least 5; what else is in
    front; and the objects. An object is its class, left, upper, right and lower end as shares of
    width and height, and possibly more. Labels of a batch have the shape (images, most objects of
    an image, numbers of an object), and -1 where an image has fewer.

    All labels are read once at the beginning. Images without an object after augmenting are passed
    over, which a log of debugging says.

    Parameters
    ----------
    batch_size, data_shape, path_imgrec, path_imglist, path_root, path_imgidx
        As for :class:`ImageIter`.
    shuffle, part_index, num_parts, imglist, data_name, label_name, last_batch_handle
        As there.
    aug_list
        Augmenters of images and labels; None for those that ``**kwargs`` ask for.
    **kwargs
        As for :func:`CreateDetAugmenter`.

    Attributes
    ----------
    label_shape : tuple
        The most objects of an image, and the numbers of each.

    Raises
    ------
    InvalidArgumentError
        As :class:`ImageIter`, and where there are no images.
    FileAccessError
        If a file cannot be read.
    FileFormatError
        As :class:`ImageIter`, and for a label that is no such row, or has no object with a width
        and a height.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import ferromix as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "some.rec")
    >>> boxes = [[1, 0.1, 0.2, 0.5, 0.6], [0, 0.3, 0.3, 0.9, 0.9]]
    >>> with mx.recordio.MXRecordIO(path, "w") as record:
    ...     for objects in (boxes, boxes[:1]):
    ...         header = mx.recordio.IRHeader(0, [2, 5, *sum(objects, [])], 0, 0)
    ...         image = np.zeros((20, 30, 3), np.uint8)
    ...         record.write(mx.recordio.pack_img(header, image, 9, ".png"))
    >>> it = mx.image.ImageDetIter(2, (3, 16, 16), path_imgrec=path)
    >>> it.label_shape
    (2, 5)
    >>> it.next().label[0][:, :, 0].asnumpy().tolist()
    [[1.0, 0.0], [1.0, -1.0]]
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Any,
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
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            data_shape=data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = (
            CreateDetAugmenter(self.data_shape, **kwargs) if aug_list is None else aug_list
        )
        self.label_shape = self._label_shape()
        self.provide_label = [(label_name, (self.batch_size, *self.label_shape))]

    def _label_shape(self) -> tuple[int, int]:
        """The most objects of an image, and the numbers of each, in all labels."""
        most, width = 0, None
        self.reset()
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                break
            rows, columns = objects(self._where(), label).shape
            if width not in (None, columns):
                raise FileFormatError(
                    f"{self._where()}: its objects have {columns} numbers, those before {width}"
                )
            most, width = max(most, rows), columns
        self.reset()
        if width is None:
            raise InvalidArgumentError(f"{type(self).__name__}: there are no images")
        return most, width

    def _empty(self) -> Filling:
        filling = super()._empty()
        filling.label[:] = -1
        return filling

    def _made(self, image: NDArray, label: Any) -> tuple[NDArray, Any] | None:
        if not self._is_valid([image]):
            return None
        try:
            image, found = self.augmentation_transform(image, objects(self._where(), label))
        except MXNetError:
            raise
        except RuntimeError as error:
            self._skip(error)
            return None
        if not has_object(found):
            self._skip("no object is left")
            return None
        rows, columns = self.label_shape
        if len(found) > rows or found.shape[1] != columns:
            raise InvalidArgumentError(
                f"{self._where()}: label_shape is {self.label_shape}, got {found.shape}"
            )
        padded = np.full(self.label_shape, -1, "float32")
        padded[: len(found)] = found
        return self.postprocess_data(image), nd.array(padded)

    def augmentation_transform(  # type: ignore[override]
        self, data: NDArray, label: np.ndarray
    ) -> tuple[NDArray, np.ndarray]:
        """The image and the label that all augmenters have changed."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def check_label_shape(self, label_shape: Any) -> None:
        """Refuses a shape of labels that has no place for those that there are.

        Raises
        ------
        InvalidArgumentError
            For fewer objects, or another number of numbers.
        """
        rows, columns = self.label_shape
        if len(label_shape) == 2 and label_shape[0] >= rows and label_shape[1] == columns:
            return
        raise InvalidArgumentError(
            f"{type(self).__name__}: label_shape must be ({rows}, {columns}), or have more rows, "
            f"got {label_shape!r}"
        )

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Changes the shape of data or labels, from the next batch on.

        Parameters
        ----------
        data_shape
            (3, height, width); None for the one that it is. Augmenters resize to the shape that
            they were made for: give `auglist` others.
        label_shape
            Objects of an image, at least as many as before, and numbers of each; None likewise.

        Raises
        ------
        InvalidArgumentError
            For another shape.
        """
        name = type(self).__name__
        if data_shape is not None:
            shape = _SHAPE.parse(name, "data_shape", data_shape)
            self.check_data_shape(shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *shape))]
            self.data_shape = shape
        if label_shape is not None:
            shape = _SHAPE.parse(name, "label_shape", label_shape)
            self.check_label_shape(shape)
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *shape))]
            self.label_shape = shape

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives both iterators the larger number of objects, so that one network takes both.

        Parameters
        ----------
        it
            The other iterator, such as that of validation.
        verbose
            Whether a log says so.

        Returns
        -------
        ImageDetIter
            The other iterator.

        Raises
        ------
        ArgumentTypeError
            For what is no ImageDetIter.
        InvalidArgumentError
            If objects have another number of numbers there.
        """
        name = f"{type(self).__name__}.sync_label_shape"
        if not isinstance(it, ImageDetIter):
            raise ArgumentTypeError(f"{name}: it must be an ImageDetIter, got {type(it).__name__}")
        (mine, width), (others, other_width) = self.label_shape, it.label_shape
        if width != other_width:
            raise InvalidArgumentError(
                f"{name}: objects have {width} numbers here, and {other_width} in the other"
            )
        most = max(mine, others)
        for iterator, rows in ((self, mine), (it, others)):
            if rows < most:
                iterator.reshape(label_shape=(most, width))
        if verbose and mine != others:
            _log.info("label_shape is now (%d, %d)", most, width)
        return it

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,  # noqa: N803 - MXNet's name
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[np.ndarray]:
        """The augmented images of the epoch, one by one, with boxes drawn around objects.

        Needs Pillow (``pip install pillow``).

        Parameters
        ----------
        color
            (red, green, blue) of boxes; None for any.
        thickness
            Of their lines.
        mean, std
            What augmenters subtracted and divided by, which is undone; True for ImageNet's.
        clip
            Whether samples outside of 0 to 255 are limited to them.
        waitKey
            Shows each image in a window for so many milliseconds, or until a key is pressed if 0.
            Needs OpenCV with windows (``pip install opencv-python``).
        window_name
            The title of the window.
        id2labels
            Names of classes, which are written into the boxes.

        Yields
        ------
        numpy.ndarray
            uint8, of shape (height, width, 3), in the order of blue, green and red, as in OpenCV.

        Raises
        ------
        MXNetError
            If Pillow, or OpenCV for a window, is not installed.
        InvalidArgumentError
            For a mean or deviation of other than one or three numbers.
        """
        mean, std = channels("draw_next", mean, std)
        paint = None if color is None else color[::-1]
        while True:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(encoded)
            if not self._is_valid([image]):
                continue
            image, found = self.augmentation_transform(image, objects(self._where(), label))
            samples = image.asnumpy() * (1 if std is None else std) + (0 if mean is None else mean)
            if clip:
                samples = np.clip(samples, 0, 255)
            pixels = np.ascontiguousarray(samples[..., ::-1]).astype(np.uint8)
            pixels = draw.drawn(pixels, found, paint, thickness, id2labels)
            if waitKey is not None:
                draw.show(window_name, pixels, waitKey)
            yield pixels
