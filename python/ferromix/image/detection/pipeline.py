"""The augmenters that training on objects usually needs."""

from __future__ import annotations

from typing import Any

from ...error import InvalidArgumentError
from ..augment import Augmenter, CastAug, ForceResizeAug, ResizeAug
from ..pipeline import color_augmenters, normalizer
from .augment import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .crop import DetRandomCropAug
from .pad import DetRandomPadAug
from .ranges import pair

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter"]


def CreateMultiRandCropAugmenter(  # noqa: N802 - MXNet's name
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Several :class:`DetRandomCropAug`, of which one is drawn for each image.

    Parameters
    ----------
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As there: one for all, or a list with one for each; a range is then a tuple.
    skip_prob
        How often none is taken.

    Raises
    ------
    InvalidArgumentError
        For lists of different lengths, or what they do not take.

    Examples
    --------
    >>> import ferromix as mx
    >>> augmenter = mx.image.CreateMultiRandCropAugmenter(
    ...     min_object_covered=[0.1, 0.5, 0.9], area_range=[(0.1, 1.0), (0.2, 1.0), (0.5, 1.0)]
    ... )
    >>> len(augmenter.aug_list)
    3
    """
    given = {
        "min_object_covered": min_object_covered,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "min_eject_coverage": min_eject_coverage,
        "max_attempts": max_attempts,
    }
    lists = {name: v if isinstance(v, list) else [v] for name, v in given.items()}
    count = max(1, *map(len, lists.values()))
    for name, values in lists.items():
        if len(values) not in (1, count):
            raise InvalidArgumentError(
                f"CreateMultiRandCropAugmenter: {name} must have one value or {count}, as the "
                f"longest list has, got {len(values)}"
            )
    every = {name: v if len(v) == count else v * count for name, v in lists.items()}
    found = [DetRandomCropAug(*values) for values in zip(*every.values(), strict=True)]
    return DetRandomSelectAug(found, skip_prob=skip_prob)


def CreateDetAugmenter(  # noqa: N802 - MXNet's name
    data_shape: Any,
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """A list of augmenters for detection.

    Parameters
    ----------
    data_shape
        The shape of the result: (channels, height, width).
    resize
        The length that the shorter side gets first, if not 0.
    rand_crop, rand_pad
        How often a part is taken, and how often the image is put into a larger one.
    rand_gray
        How often the colours are taken away.
    rand_mirror
        Whether every second image is mirrored.
    mean, std
        What is subtracted from each channel, and what it is divided by; True for ImageNet's.
    brightness, contrast, saturation, pca_noise, hue
        How far these vary.
    inter_method
        0 to 4 as for :func:`ferromix.image.imresize`; 9 chooses by the sizes, 10 at random.
    min_object_covered, min_eject_coverage
        As for :func:`CreateMultiRandCropAugmenter`.
    aspect_ratio_range, max_attempts
        As there, and for :class:`DetRandomPadAug`.
    area_range
        The least area of a part, and the largest area of a part or of what it is put into, as
        shares of the image.
    pad_val
        As for :class:`DetRandomPadAug`.

    Raises
    ------
    InvalidArgumentError
        For what the augmenters do not take.

    Examples
    --------
    >>> import ferromix as mx
    >>> for augmenter in mx.image.CreateDetAugmenter((3, 20, 30), rand_mirror=True):
    ...     print(augmenter.dumps())
    ["dethorizontalflipaug", {"p": 0.5}]
    ['detborrowaug', '["forceresizeaug", {"size": [30, 20], "interp": 2}]']
    ['detborrowaug', '["castaug", {"type": "float32"}]']
    """
    found: list[DetAugmenter] = []
    if resize > 0:
        found.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        found.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror > 0:
        found.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        # What is put around an image is resized with it, so it comes late.
        largest = pair("CreateDetAugmenter", "area_range", area_range)[1]
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, largest), max_attempts, pad_val)
        found.append(DetRandomSelectAug([pad], 1 - rand_pad))
    borrowed: list[Augmenter] = [
        ForceResizeAug((data_shape[2], data_shape[1]), inter_method),
        CastAug(),
        *color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray),
        *normalizer("CreateDetAugmenter", mean, std),
    ]
    return found + [DetBorrowAug(augmenter) for augmenter in borrowed]
