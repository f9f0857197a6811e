"""The augmenters that training on images usually needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..error import InvalidArgumentError
from .augment import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomSizedCropAug,
    ResizeAug,
)

__all__ = ["CreateAugmenter", "channels", "color_augmenters", "normalizer"]

# Of ImageNet: the mean and the deviation of its colours, and their main axes (Krizhevsky et al.,
# "ImageNet Classification with Deep Convolutional Neural Networks", 2012).
_MEAN = (123.68, 116.28, 103.53)
_STD = (58.395, 57.12, 57.375)
_LENGTHS = np.array([55.46, 4.794, 1.148])
_AXES = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def CreateAugmenter(  # noqa: N802 - MXNet's name
    data_shape: Any,
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """A list of augmenters.

    Parameters
    ----------
    data_shape
        The shape of the result: (channels, height, width).
    resize
        The length that the shorter side gets first, if not 0.
    rand_crop
        Whether the part is taken anywhere, and not in the middle.
    rand_resize
        Whether its size and ratio are random, too; needs `rand_crop`.
    rand_mirror
        Whether every second image is mirrored.
    mean, std
        What is subtracted from each channel, and what it is divided by; True for ImageNet's.
    brightness, contrast, saturation, hue, pca_noise
        How far these vary.
    rand_gray
        How often the colours are taken away.
    inter_method
        0 to 4 as for :func:`imresize`; 9 chooses by the sizes, 10 at random.

    Raises
    ------
    InvalidArgumentError
        `rand_resize` without `rand_crop`; a mean or deviation of other than one or three numbers.

    Examples
    --------
    >>> import ferromix as mx
    >>> for augmenter in mx.image.CreateAugmenter((3, 20, 30), rand_mirror=True):
    ...     print(augmenter.dumps())
    ["centercropaug", {"size": [30, 20], "interp": 2}]
    ["horizontalflipaug", {"p": 0.5}]
    ["castaug", {"type": "float32"}]
    """
    found: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    size = (data_shape[2], data_shape[1])
    if rand_resize and not rand_crop:
        raise InvalidArgumentError("CreateAugmenter: rand_resize needs rand_crop")
    if rand_resize:
        found.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        found.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        found.append(HorizontalFlipAug(0.5))
    found.append(CastAug())
    found += color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return found + normalizer("CreateAugmenter", mean, std)


def color_augmenters(
    brightness: float, contrast: float, saturation: float, hue: float, pca: float, gray: float
) -> list[Augmenter]:
    """Those of colours, of which each is left out where its number is 0."""
    found: list[Augmenter] = []
    if brightness or contrast or saturation:
        found.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        found.append(HueJitterAug(hue))
    if pca > 0:
        found.append(LightingAug(pca, _LENGTHS, _AXES))
    if gray > 0:
        found.append(RandomGrayAug(gray))
    return found


def normalizer(function: str, mean: Any, std: Any) -> list[Augmenter]:
    """The one that normalizes, unless both are None."""
    mean, std = channels(function, mean, std)
    return [] if mean is None and std is None else [ColorNormalizeAug(mean, std)]


def channels(function: str, mean: Any, std: Any) -> tuple[Any, Any]:
    """Mean and deviation as arrays; ImageNet's for True, and None for None.

    Raises
    ------
    InvalidArgumentError
        For other than one or three numbers.
    """
    return (
        _channels(function, "mean", _MEAN if mean is True else mean),
        _channels(function, "std", _STD if std is True else std),
    )


def _channels(function: str, name: str, given: Any) -> Any:
    if given is None:
        return None
    values = np.asarray(given.asnumpy() if hasattr(given, "asnumpy") else given)
    if values.shape[:1] not in ((1,), (3,)):
        raise InvalidArgumentError(
            f"{function}: {name} must be one number in a list or three, got {given!r}"
        )
    return values
