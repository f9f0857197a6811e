"""Batches of images from RecordIO files, decoded and augmented."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, ClassVar

from .. import _core
from ..error import DTypeError, FileFormatError
from ..files import access, resolve
from ..ops.param import Param, Params
from .image_feed import ImageFeed
from .image_recipe import recipe_of
from .image_source import labels_of, mean_image, part_of, require_default, starts_of
from .native import CONTEXT, MXDataIter, ignore, reading, required
from .params import INT, SIZE, read
from .rounds import RoundOrder

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]

_log = logging.getLogger(__name__)

_FLOAT, _BOOL = Param("float"), Param("bool")
_TYPES: Params = {
    **dict.fromkeys(("batch_size", "label_width", "num_parts", "preprocess_threads"), SIZE),
    **dict.fromkeys(("part_index", "seed", "resize", "pad", "fill_value", "inter_method"), INT),
    **dict.fromkeys(("shuffle_chunk_size", "shuffle_chunk_seed", "prefetch_buffer"), INT),
    **dict.fromkeys(("max_crop_size", "min_crop_size", "device_id"), INT),
    **dict.fromkeys(("shuffle", "round_batch", "verbose", "rand_crop", "mirror"), _BOOL),
    **dict.fromkeys(("rand_mirror", "random_resized_crop"), _BOOL),
    **dict.fromkeys(("mean_r", "mean_g", "mean_b", "mean_a", "std_r", "std_g", "std_b"), _FLOAT),
    **dict.fromkeys(("std_a", "scale", "max_random_contrast"), _FLOAT),
    **dict.fromkeys(("max_random_illumination", "max_aspect_ratio", "brightness"), _FLOAT),
    **dict.fromkeys(("contrast", "saturation", "pca_noise"), _FLOAT),
    **dict.fromkeys(("max_random_area", "min_random_area", "max_shear_ratio"), _FLOAT),
    **dict.fromkeys(("max_random_scale", "min_random_scale"), _FLOAT),
    **dict.fromkeys(("max_img_size", "min_img_size"), _FLOAT),
    **dict.fromkeys(("max_rotate_angle", "rotate", "random_h", "random_s", "random_l"), INT),
    "seed_aug": Param("int", optional=True),
    "min_aspect_ratio": Param("float", optional=True),
    "data_shape": Param("shape", low=1),
    "ctx": CONTEXT,
    "dtype": Param("dtype", optional=True),
}


class ImageRecordIter(MXDataIter):
    """Batches of images from a RecordIO file, as :mod:`ferromix.recordio` writes them.

    Images in JPEG or PNG are decoded, brought to size, cut and normalised by the engine, ahead of
    their use. What is drawn for an image depends on the seed, the epoch and its number alone, so
    equal seeds give equal batches for any number of threads. Every parameter may also be given as a
    string.

    Parameters
    ----------
    path_imgrec
        The file.
    data_shape
        (channels, height, width) of a sample; 3 channels, in the order of red, green and blue, or 1
        for gray.
    batch_size
        Samples per batch.
    path_imgidx
        The index of the file; without it the file is looked through once.
    path_imglist
        A list with labels, by the numbers of the records: number, labels and a path, with
        tabulators between.
    label_width
        Labels of an image.
    shuffle
        Whether each epoch has an order of its own.
    seed, seed_aug
        Of the orders, and of what is drawn for images; the former for both, unless given.
    num_parts, part_index
        Into how many parts the file falls, and which is read.
    round_batch
        Whether the next epoch goes on behind the images that fill up the last batch. `pad` of a
        batch says how many only fill it up.
    prefetch_buffer
        Batches that are made ahead.
    dtype
        Of the data; None for float32. ``uint8`` and ``int8`` are the bytes as they are, the latter
        up to 127, without mean, scale and the like.
    resize
        The shorter edge to begin with; -1 for none.
    rotate, max_rotate_angle, max_shear_ratio
        Degrees to turn images by then, the other way round than the clock goes; without a `rotate`
        above 0, random whole degrees, to either side at most `max_rotate_angle`. Rows are moved by
        a random part of their distance from the middle, at most `max_shear_ratio`.
    min_random_scale, max_random_scale, min_img_size, max_img_size
        The range of a scale, and of the width and height after it, which are cut or filled up.
    min_aspect_ratio, max_aspect_ratio
        The range of a factor of width to height; without `min_aspect_ratio` it is within
        `max_aspect_ratio` of 1.
    pad, fill_value
        Pixels added at each side then, and the value of pixels that no image covers.
    rand_crop
        Whether the part taken is anywhere, not in the middle. An image that is smaller is enlarged.
    random_resized_crop, min_random_area, max_random_area
        Whether the part has a random area and a random ratio of width to height, of the range of
        the aspect ratios above, and is brought to size.
    min_crop_size, max_crop_size
        Takes a square of a random side instead, and brings it to size.
    inter_method
        0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 any.
    mirror, rand_mirror
        Whether all images, or half of them, are mirrored.
    random_h, random_s, random_l
        The most by which hue, saturation and lightness in 8 bits (hue: half degrees, to 180) are
        changed.
    brightness, contrast, saturation
        The most by which these differ from 1 in the bytes.
    pca_noise
        The deviation of noise along the principal colours.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        A sample is ``(byte - mean) * scale / std``; those for alpha are ignored.
    mean_img
        A file with the mean image, which is subtracted instead. If there is none, it is written,
        with the mean of the samples as they would be without it.
    max_random_contrast, max_random_illumination
        The most by which a factor before `scale` differs from 1, and a summand from 0.
    preprocess_threads, shuffle_chunk_size, shuffle_chunk_seed, verbose, ctx, device_id
        Accepted as in MXNet. Threads are those of the kernels.
    data_name, label_name
        The names of the variables to feed.
    **others
        `aug_seq` must be "aug_default". Others are ignored, with a warning in the log.

    Raises
    ------
    MissingFileError
        For a file that is not there.
    FileFormatError
        For a file that has no records, or is cut off; and when a batch is asked for, for a damaged
        record or image: the message names the file and the record's byte.
    InvalidArgumentError
        For arguments of the wrong kind.
    DTypeError
        For another element type.
    """

    _dtype: ClassVar[str | None] = None

    def __init__(
        self,
        path_imgrec: str | os.PathLike[str] | None = None,
        data_shape: Sequence[int] | None = None,
        batch_size: int | None = None,
        path_imgidx: str | os.PathLike[str] = "",
        path_imglist: str | os.PathLike[str] = "",
        label_width: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        seed_aug: int | None = None,
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        dtype: Any = None,
        resize: int = -1,
        pad: int = 0,
        fill_value: int = 255,
        rotate: int = -1,
        max_rotate_angle: int = 0,
        max_shear_ratio: float = 0,
        min_random_scale: float = 1,
        max_random_scale: float = 1,
        min_img_size: float = 0,
        max_img_size: float = 1e10,
        rand_crop: bool = False,
        random_resized_crop: bool = False,
        min_random_area: float = 1,
        max_random_area: float = 1,
        min_aspect_ratio: float | None = None,
        max_aspect_ratio: float = 0,
        min_crop_size: int = -1,
        max_crop_size: int = -1,
        inter_method: int = 1,
        mirror: bool = False,
        rand_mirror: bool = False,
        random_h: int = 0,
        random_s: int = 0,
        random_l: int = 0,
        brightness: float = 0,
        contrast: float = 0,
        saturation: float = 0,
        pca_noise: float = 0,
        mean_r: float = 0,
        mean_g: float = 0,
        mean_b: float = 0,
        mean_a: float = 0,
        std_r: float = 1,
        std_g: float = 1,
        std_b: float = 1,
        std_a: float = 1,
        scale: float = 1,
        mean_img: str | os.PathLike[str] = "",
        max_random_contrast: float = 0,
        max_random_illumination: float = 0,
        preprocess_threads: int = 4,
        shuffle_chunk_size: int = 0,
        shuffle_chunk_seed: int = 0,
        verbose: bool = True,
        ctx: str = "gpu",
        device_id: int = 0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **others: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _TYPES}
        iterator = type(self).__name__
        required(iterator, path_imgrec=path_imgrec, data_shape=data_shape, batch_size=batch_size)
        typed = read(iterator, _TYPES, given)
        require_default(iterator, others, "aug_seq", "aug_default")
        kind = self._dtype or typed["dtype"] or "float32"
        if kind in ("bool", "bfloat16"):
            raise DTypeError(f"{iterator}: images cannot be loaded as {kind}")
        path = resolve(path_imgrec or "")
        recipe, part = recipe_of(iterator, typed), part_of(iterator, typed)
        starts, labels = starts_of(path_imgidx), labels_of(path_imglist)
        seed_of_images = typed["seed"] if typed["seed_aug"] is None else typed["seed_aug"]
        shape, width, size = typed["data_shape"], typed["label_width"], typed["batch_size"]

        def open_feed(kind: str, shuffle: bool, round_batch: bool) -> ImageFeed:
            with access(path), reading([path]):
                loader = _core.ImageLoader(
                    path, starts, part, recipe, width, labels, seed_of_images % 2**64
                )
            if not len(loader) and part[1] == 1:
                raise FileFormatError(f"{path}: has no records")
            order = RoundOrder(len(loader), size, shuffle, typed["seed"], round_batch)
            ahead = typed["prefetch_buffer"]
            return ImageFeed(path, loader, order, shape, width, kind, ahead)

        if kind not in ("uint8", "int8"):
            mean = mean_image(
                *(iterator, mean_img, shape),
                lambda: open_feed("float32", shuffle=False, round_batch=False),
                typed["verbose"],
            )
            recipe["mean"] = mean or recipe["mean"]
        feed = open_feed(kind, typed["shuffle"], typed["round_batch"])
        super().__init__(feed, data_name, label_name)
        ignore(iterator, [name for name in others if name != "aug_seq"])
        if typed["verbose"]:
            _log.info("%s: %d images from %s", iterator, len(feed), path)

    def progress(self) -> dict[str, float]:
        """What was done since the beginning; any thread may ask, at any time.

        Returns
        -------
        dict
            ``images`` and ``batches`` made, also ahead; ``seconds`` in which at least one batch was
            being made, and ``images_per_second`` of these; ``stalled``, the seconds that
            :meth:`next` waited for batches. If it is small, images keep up with training.
        """
        return self.handle.progress()  # type: ignore[attr-defined]


class ImageRecordUInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with the bytes of images as they are."""

    _dtype = "uint8"


class ImageRecordInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with the bytes of images, up to 127, as int8."""

    _dtype = "int8"


class ImageRecordIter_v1(ImageRecordIter):  # noqa: N801 - MXNet's name
    """The older name of :class:`ImageRecordIter`."""


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):  # noqa: N801 - MXNet's name
    """The older name of :class:`ImageRecordUInt8Iter`."""
