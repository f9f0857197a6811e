"""Batches of images with objects from RecordIO files."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from ..error import DTypeError, FileFormatError, InvalidArgumentError
from ..files import access, resolve
from ..ops.param import Param, Params
from .detection_recipe import detection_of
from .image_feed import ImageFeed
from .image_source import labels_of, mean_image, part_of, require_default
from .native import CONTEXT, MXDataIter, ignore, reading, required
from .params import INT, SIZE, read
from .rounds import RoundOrder

__all__ = ["ImageDetRecordIter"]

_log = logging.getLogger(__name__)

_LABEL_HEAD = 4
"""Numbers in front of a label: channels, height and width of the image, and the label's length."""

_FLOAT, _FLOATS, _BOOL = Param("float"), Param("floats"), Param("bool")
_TYPES: Params = {
    **dict.fromkeys(("batch_size", "num_parts", "preprocess_threads"), SIZE),
    **dict.fromkeys(("part_index", "seed", "resize", "fill_value", "inter_method"), INT),
    **dict.fromkeys(("shuffle_chunk_size", "shuffle_chunk_seed", "prefetch_buffer"), INT),
    **dict.fromkeys(("label_width", "label_pad_width", "num_crop_sampler"), INT),
    **dict.fromkeys(("max_random_hue", "max_random_saturation", "max_random_illumination"), INT),
    **dict.fromkeys(("shuffle", "round_batch", "verbose"), _BOOL),
    **dict.fromkeys(("min_crop_scales", "max_crop_scales"), _FLOATS),
    **dict.fromkeys(("min_crop_aspect_ratios", "max_crop_aspect_ratios"), _FLOATS),
    **dict.fromkeys(("min_crop_overlaps", "max_crop_overlaps"), _FLOATS),
    **dict.fromkeys(("min_crop_sample_coverages", "max_crop_sample_coverages"), _FLOATS),
    **dict.fromkeys(("min_crop_object_coverages", "max_crop_object_coverages"), _FLOATS),
    **dict.fromkeys(("label_pad_value", "rand_crop_prob", "emit_overlap_thresh"), _FLOAT),
    **dict.fromkeys(("rand_pad_prob", "max_pad_scale", "rand_mirror_prob"), _FLOAT),
    **dict.fromkeys(("random_hue_prob", "random_saturation_prob"), _FLOAT),
    **dict.fromkeys(("random_illumination_prob", "random_contrast_prob"), _FLOAT),
    **dict.fromkeys(("mean_r", "mean_g", "mean_b", "mean_a", "std_r", "std_g", "std_b"), _FLOAT),
    **dict.fromkeys(("std_a", "scale", "max_random_contrast"), _FLOAT),
    "crop_emit_mode": Param("str", choices=("center", "overlap")),
    "resize_mode": Param("str", choices=("fit", "force", "shrink")),
    "max_crop_trials": Param("shape", low=0),
    "data_shape": Param("shape", low=1),
    "ctx": CONTEXT,
    "dtype": Param("dtype", optional=True),
}


class ImageDetRecordIter(MXDataIter):
    """Batches of images with objects from a RecordIO file.

    The label of a record is a list of numbers: the length of the header, that of an object, what
    else the header has, and for each object its class, left, top, right and bottom, in parts of the
    image's width and height, and what else an object has. Objects without area are left out. The
    label of a sample is channels, height and width of the image, the length of the label, the label
    and `label_pad_value` behind it.

    Images in JPEG or PNG are decoded and augmented, with their labels, by the engine, ahead of
    their use, in this order: shorter edge, colours, mirror, padding, crop, size. What is drawn for
    an image depends on the seed, the epoch and its number alone. Every parameter may also be given
    as a string.

    Parameters
    ----------
    path_imgrec
        The file.
    data_shape
        (channels, height, width) of a sample; 3 channels, in the order of red, green and blue, or 1
        for gray.
    batch_size
        Samples per batch.
    path_imglist
        A list with labels, by the numbers of the records: number, labels and a path, with
        tabulators between.
    label_width
        How long each label is; -1 for any length. Of those of a list as many numbers are taken.
    label_pad_width, label_pad_value
        How long labels are in a batch, without the four numbers in front; as long as the longest
        without it. And what is behind shorter ones.
    shuffle
        Whether each epoch has an order of its own.
    seed
        Of the orders, and of what is drawn for images.
    num_parts, part_index
        Into how many parts the file falls, and which is read.
    round_batch
        Whether the next epoch goes on behind the images that fill up the last batch. `pad` of a
        batch says how many only fill it up.
    prefetch_buffer
        Batches that are made ahead.
    dtype
        Of the data; None for float32. Labels are float32.
    resize
        The shorter edge to begin with; -1 for none.
    max_random_hue, max_random_saturation, max_random_illumination, max_random_contrast
        The most by which hue, saturation and lightness in 8 bits (hue: half degrees, to 180) are
        changed, and by which a factor of the bytes differs from 1.
    random_hue_prob, random_saturation_prob, random_illumination_prob, random_contrast_prob
        How probably they are.
    rand_mirror_prob
        How probably an image is mirrored.
    rand_pad_prob, max_pad_scale, fill_value
        How probably an image is put somewhere into a larger one, how many times as large in width
        and height that is at most, and its value.
    rand_crop_prob, num_crop_sampler, max_crop_trials
        How probably a part of an image is taken; by how many samplers, which are asked in random
        order; and how often each tries. The whole image stays if none finds a part. What follows
        has one value for each sampler, or one for all.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios
        The range of the root of the part's area, of 1 for the image's, and of its ratio of width to
        height.
    min_crop_overlaps, max_crop_overlaps
        An object must exist whose common area with the part is within this range, relative to what
        both cover together,
    min_crop_sample_coverages, max_crop_sample_coverages
        and within this, relative to the part,
    min_crop_object_coverages, max_crop_object_coverages
        and within this, relative to the object.
    crop_emit_mode, emit_overlap_thresh
        Which objects stay: ``"center"``, those whose middle is in the part; ``"overlap"``, those of
        which more than `emit_overlap_thresh` is in it. A part needs one that stays.
    resize_mode
        ``"force"`` brings images to size, ``"shrink"`` makes larger ones fit with their ratio, and
        ``"fit"`` smaller ones as well. Where an image does not reach, bytes are 0.
    inter_method
        0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 any.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        A sample is ``(byte - mean) / std * scale``. If no mean is above 0 nothing is subtracted,
        and a std of 0 or less is none; those for alpha are ignored.
    mean_img
        A file with the mean image, which is subtracted if no other mean is given. If there is none,
        it is written, with the mean of the samples as they would be without it.
    preprocess_threads, shuffle_chunk_size, shuffle_chunk_seed, verbose, ctx
        Accepted as in MXNet. Threads are those of the kernels.
    data_name, label_name
        The names of the variables to feed.
    **others
        `aug_seq` must be "det_aug_default". Others are ignored, with a warning in the log.

    Raises
    ------
    MissingFileError
        For a file that is not there.
    FileFormatError
        For a file that has no records, and for labels of another length than `label_width`; when a
        batch is asked for, for a damaged record or image, or a label without objects: the message
        names the file and the record's byte.
    InvalidArgumentError
        For arguments of the wrong kind, and for labels that are longer than `label_pad_width`.
    DTypeError
        For another element type.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> with mx.recordio.MXRecordIO("objects.rec", "w") as records:
    ...     label = [2, 5, 0, 0.25, 0.25, 0.75, 0.5]  # an object of class 0
    ...     header = mx.recordio.IRHeader(0, label, 0, 0)
    ...     image = np.zeros((40, 60, 3), np.uint8)
    ...     records.write(mx.recordio.pack_img(header, image, img_fmt=".png"))
    >>> it = mx.io.ImageDetRecordIter("objects.rec", (3, 32, 32), 1, rand_mirror_prob=1)
    >>> it.next().label[0].asnumpy().tolist()
    [[3.0, 32.0, 32.0, 7.0, 2.0, 5.0, 0.0, 0.25, 0.25, 0.75, 0.5]]
    """

    def __init__(
        self,
        path_imgrec: str | os.PathLike[str] | None = None,
        data_shape: Sequence[int] | None = None,
        batch_size: int | None = None,
        path_imglist: str | os.PathLike[str] = "",
        label_width: int = -1,
        label_pad_width: int = 0,
        label_pad_value: float = -1,
        shuffle: bool = False,
        seed: int = 0,
        num_parts: int = 1,
        part_index: int = 0,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        dtype: Any = None,
        resize: int = -1,
        max_random_hue: int = 0,
        random_hue_prob: float = 0,
        max_random_saturation: int = 0,
        random_saturation_prob: float = 0,
        max_random_illumination: int = 0,
        random_illumination_prob: float = 0,
        max_random_contrast: float = 0,
        random_contrast_prob: float = 0,
        rand_mirror_prob: float = 0,
        rand_pad_prob: float = 0,
        max_pad_scale: float = 1,
        fill_value: int = 127,
        rand_crop_prob: float = 0,
        num_crop_sampler: int = 1,
        max_crop_trials: Sequence[int] | int = (25,),
        min_crop_scales: Sequence[float] | float = (0,),
        max_crop_scales: Sequence[float] | float = (1,),
        min_crop_aspect_ratios: Sequence[float] | float = (1,),
        max_crop_aspect_ratios: Sequence[float] | float = (1,),
        min_crop_overlaps: Sequence[float] | float = (0,),
        max_crop_overlaps: Sequence[float] | float = (1,),
        min_crop_sample_coverages: Sequence[float] | float = (0,),
        max_crop_sample_coverages: Sequence[float] | float = (1,),
        min_crop_object_coverages: Sequence[float] | float = (0,),
        max_crop_object_coverages: Sequence[float] | float = (1,),
        crop_emit_mode: str = "center",
        emit_overlap_thresh: float = 0.3,
        resize_mode: str = "force",
        inter_method: int = 1,
        mean_r: float = 0,
        mean_g: float = 0,
        mean_b: float = 0,
        mean_a: float = 0,
        std_r: float = 0,
        std_g: float = 0,
        std_b: float = 0,
        std_a: float = 0,
        scale: float = 1,
        mean_img: str | os.PathLike[str] = "",
        preprocess_threads: int = 4,
        shuffle_chunk_size: int = 0,
        shuffle_chunk_seed: int = 0,
        verbose: bool = True,
        ctx: str = "gpu",
        data_name: str = "data",
        label_name: str = "softmax_label",
        **others: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _TYPES}
        iterator = type(self).__name__
        required(iterator, path_imgrec=path_imgrec, data_shape=data_shape, batch_size=batch_size)
        typed = read(iterator, _TYPES, given)
        require_default(iterator, others, "aug_seq", "det_aug_default")
        kind = typed["dtype"] or "float32"
        if kind in ("bool", "bfloat16"):
            raise DTypeError(f"{iterator}: images cannot be loaded as {kind}")
        path = resolve(path_imgrec or "")
        recipe, part = detection_of(iterator, typed), part_of(iterator, typed)
        labels, least, each = _label_widths(iterator, labels_of(path_imglist), typed)
        shape, size, ahead = typed["data_shape"], typed["batch_size"], typed["prefetch_buffer"]

        def open_feed(kind: str, shuffle: bool, round_batch: bool) -> ImageFeed:
            with access(path), reading([path]):
                loader = _core.ImageLoader(
                    *(path, None, part, recipe, least, labels, typed["seed"] % 2**64, each)
                )
            if not len(loader) and part[1] == 1:
                raise FileFormatError(f"{path}: has no records")
            _require_room(iterator, loader.label_width - _LABEL_HEAD, typed)
            order = RoundOrder(len(loader), size, shuffle, typed["seed"], round_batch)
            return ImageFeed(path, loader, order, shape, loader.label_width, kind, ahead)

        if not any(recipe["mean"]):
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
        """What was done since the beginning; as :meth:`ImageRecordIter.progress`."""
        return self.handle.progress()  # type: ignore[attr-defined]


def _label_widths(
    iterator: str, labels: dict[int, list[float]] | None, typed: Mapping[str, Any]
) -> tuple[dict[int, list[float]] | None, int, int | None]:
    """The labels of a list, how long labels are at least, and how long each is, if that is said."""
    width = typed["label_width"] if typed["label_width"] > 0 else None
    least = max(typed["label_pad_width"], 0)
    if labels is None:
        return None, least, width
    for number, label in labels.items():
        if width is not None and len(label) < width:
            raise FileFormatError(
                f"{iterator}: image {number} of path_imglist has {len(label)} labels, but "
                f"label_width is {width}"
            )
        labels[number] = label[:width]
    longest = max((len(label) for label in labels.values()), default=0)
    return labels, max(longest, least), None


def _require_room(iterator: str, longest: int, typed: Mapping[str, Any]) -> None:
    room = typed["label_pad_width"]
    if 0 < room < longest:
        raise InvalidArgumentError(
            f"{iterator}: label_pad_width is {room}, but the longest label has {longest} numbers; "
            "give at least that, or 0 for as many"
        )
