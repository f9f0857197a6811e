"""Batches of images from RecordIO files, decoded and augmented."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .. import _core
from ..error import DTypeError, FileFormatError, InvalidArgumentError
from ..files import access
from ..ops.param import Param, Params
from .image_feed import ImageFeed
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
    **dict.fromkeys(("max_random_area", "min_random_area"), _FLOAT),
    "seed_aug": Param("int", optional=True),
    "min_aspect_ratio": Param("float", optional=True),
    "data_shape": Param("shape", low=1),
    "ctx": CONTEXT,
    "dtype": Param("dtype", optional=True),
}
# Of MXNet's, and not there yet: what each must be.
_FIXED: dict[str, Any] = {
    **dict.fromkeys(("max_rotate_angle", "max_shear_ratio", "min_img_size"), 0),
    **dict.fromkeys(("random_h", "random_s", "random_l"), 0),
    **dict.fromkeys(("max_random_scale", "min_random_scale"), 1),
    "rotate": -1,
    "max_img_size": 1e10,
    "mean_img": "",
    "aug_seq": "aug_default",
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
    pad, fill_value
        Pixels added at each side then, and their value.
    rand_crop
        Whether the part taken is anywhere, not in the middle. An image that is smaller is enlarged.
    random_resized_crop, min_random_area, max_random_area, min_aspect_ratio, max_aspect_ratio
        Whether the part has a random area and a random ratio of width to height, and is brought to
        size. Without `min_aspect_ratio` the ratio is within `max_aspect_ratio` of 1.
    min_crop_size, max_crop_size
        Takes a square of a random side instead, and brings it to size.
    inter_method
        0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 any.
    mirror, rand_mirror
        Whether all images, or half of them, are mirrored.
    brightness, contrast, saturation
        The most by which these differ from 1 in the bytes.
    pca_noise
        The deviation of noise along the principal colours.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        A sample is ``(byte - mean) * scale / std``; those for alpha are ignored.
    max_random_contrast, max_random_illumination
        The most by which a factor before `scale` differs from 1, and a summand from 0.
    preprocess_threads, shuffle_chunk_size, shuffle_chunk_seed, verbose, ctx, device_id
        Accepted as in MXNet. Threads are those of the kernels.
    data_name, label_name
        The names of the variables to feed.
    **others
        Of MXNet's parameters those that are not there yet (rotation, shear, scale, HSL,
        `mean_img`), which must have their defaults; others are ignored, with a warning in the log.

    Raises
    ------
    MissingFileError
        For a file that is not there.
    FileFormatError
        For a file that has no records; and when a batch is asked for, for a damaged record or
        image: the message names the file and the record's byte.
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
        _require_there(iterator, others)
        kind = self._dtype or typed["dtype"] or "float32"
        if kind in ("bool", "bfloat16"):
            raise DTypeError(f"{iterator}: images cannot be loaded as {kind}")
        path, shape = os.fspath(path_imgrec or ""), typed["data_shape"]
        recipe = _recipe(iterator, typed)
        starts = _starts(path_imgidx)
        labels = _labels(path_imglist)
        part = _part(iterator, typed)
        seed_of_images = typed["seed"] if typed["seed_aug"] is None else typed["seed_aug"]
        with access(path), reading([path]):
            loader = _core.ImageLoader(
                path, starts, part, recipe, typed["label_width"], labels, seed_of_images % 2**64
            )
        if not len(loader) and part[1] == 1:
            raise FileFormatError(f"{path}: has no records")
        order = RoundOrder(
            len(loader), typed["batch_size"], typed["shuffle"], typed["seed"], typed["round_batch"]
        )
        ahead = typed["prefetch_buffer"]
        feed = ImageFeed(path, loader, order, shape, typed["label_width"], kind, ahead)
        super().__init__(feed, data_name, label_name)
        ignore(iterator, [name for name in others if name not in _FIXED])
        if typed["verbose"]:
            _log.info("%s: %d images from %s", iterator, len(loader), path)

    def progress(self) -> dict[str, float]:
        """Images and batches made since the beginning, and the seconds that it took."""
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


def _require_there(iterator: str, others: Mapping[str, Any]) -> None:
    for name, default in _FIXED.items():
        value = others.get(name, default)
        if str(value) != str(default) and not _same_number(value, default):
            raise InvalidArgumentError(
                f"{iterator}: {name}={value!r} is not there yet; leave it at {default!r}, and use "
                "mx.image.CreateAugmenter for what it does"
            )


def _same_number(value: Any, default: Any) -> bool:
    try:
        return float(value) == float(default)
    except (TypeError, ValueError):
        return False


def _part(iterator: str, typed: Mapping[str, Any]) -> tuple[int, int]:
    index, parts = typed["part_index"], typed["num_parts"]
    if not 0 <= index < parts:
        raise InvalidArgumentError(
            f"{iterator}: part_index must be in [0, num_parts), got {index} of {parts}"
        )
    return index, parts


def _recipe(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    shape = typed["data_shape"]
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise InvalidArgumentError(
            f"{iterator}: data_shape must be (channels, height, width) with 1 or 3 channels, "
            f"got {shape}"
        )
    deviation = [typed["std_r"], typed["std_g"], typed["std_b"]]
    if 0 in deviation:
        raise InvalidArgumentError(f"{iterator}: std_r, std_g and std_b must not be 0")
    if typed["inter_method"] not in (0, 1, 2, 3, 4, 9, 10):
        raise InvalidArgumentError(
            f"{iterator}: inter_method must be 0 to 4, 9 or 10, got {typed['inter_method']}"
        )
    for name in ("resize", "pad", "fill_value"):
        low, high = (-1 if name == "resize" else 0), (255 if name == "fill_value" else 2**15)
        if not low <= typed[name] <= high or (name == "resize" and typed[name] == 0):
            raise InvalidArgumentError(f"{iterator}: {name}={typed[name]} makes no image")
    return {
        "shape": list(shape),
        "resize": None if typed["resize"] < 0 else typed["resize"],
        "pad": (typed["pad"], typed["fill_value"]),
        "interpolation": typed["inter_method"],
        "mirror": (typed["mirror"], typed["rand_mirror"]),
        "mean": [typed["mean_r"], typed["mean_g"], typed["mean_b"]],
        "deviation": deviation,
        "scale": typed["scale"],
        "contrast": typed["max_random_contrast"],
        "illumination": typed["max_random_illumination"],
        "colors": [typed["brightness"], typed["contrast"], typed["saturation"]],
        "noise": typed["pca_noise"],
        **_crop(iterator, typed),
    }


def _crop(iterator: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    if typed["random_resized_crop"]:
        most, least = typed["max_aspect_ratio"], typed["min_aspect_ratio"]
        aspect = [1 - most, 1 + most] if least is None else [least, most]
        area = [typed["min_random_area"], typed["max_random_area"]]
        for name, (low, high) in (("aspect_ratio", aspect), ("random_area", area)):
            if not 0 < low <= high:
                raise InvalidArgumentError(
                    f"{iterator}: {name} must be in a range above 0, got {low} to {high}"
                )
        return {"crop": "resized", "area": area, "aspect": aspect}
    if typed["max_aspect_ratio"] or typed["min_aspect_ratio"] is not None:
        raise InvalidArgumentError(
            f"{iterator}: aspect ratios are there for random_resized_crop only; set it"
        )
    low, high = typed["min_crop_size"], typed["max_crop_size"]
    if low > 0 or high > 0:
        if not 0 < low <= high:
            raise InvalidArgumentError(
                f"{iterator}: min_crop_size {low} and max_crop_size {high} make no range"
            )
        return {"crop": "square", "side": [low, high]}
    return {"crop": "random" if typed["rand_crop"] else "centre"}


def _starts(path: str | os.PathLike[str]) -> list[int] | None:
    """Where the records of an index begin; None without one."""
    if not os.fspath(path):
        return None
    with access(os.fspath(path)), reading([os.fspath(path)]):
        return [offset for _, offset in _core.read_record_index(os.fspath(path))]


def _labels(path: str | os.PathLike[str]) -> dict[int, list[float]] | None:
    """The labels of a list by the numbers of its images; None without one."""
    name = os.fspath(path)
    if not name:
        return None
    found: dict[int, list[float]] = {}
    with access(name), open(name, encoding="utf-8") as lines:
        for row, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            number, *labels = line.rstrip("\n").split("\t")
            try:
                found[int(number)] = [float(label) for label in labels[:-1]]
            except ValueError:
                raise FileFormatError(
                    f"{name}: line {row} is not a number, labels and a path with tabulators "
                    f"between: {line.strip()[:80]!r}"
                ) from None
    return found
