"""Augmenters: changes of images, drawn anew for each, by Python's and NumPy's random numbers."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..ndarray import NDArray
from .codec import imresize
from .crop import (
    area_of,
    center_crop,
    color_normalize,
    interpolation,
    random_crop,
    random_size_crop,
    resize_short,
)

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]

LUMA = (0.299, 0.587, 0.114)
"""How much of red, green and blue is in gray, by ITU-R BT.601."""
_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
"""Brightness and colour of NTSC, in which a turn changes the hue."""


class Described:
    """What says its name and parameters.

    Parameters
    ----------
    **kwargs
        The parameters; arrays become lists.
    """

    def __init__(self, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if isinstance(value, NDArray):
                value = value.asnumpy()
            kwargs[key] = value.tolist() if isinstance(value, np.ndarray) else value
        self._kwargs = kwargs

    def dumps(self) -> Any:
        """The augmenter's name and parameters, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """The base of augmenters: what changes an image of shape (height, width, channels).

    Parameters
    ----------
    **kwargs
        What :meth:`dumps` says of the augmenter; arrays become lists.

    Examples
    --------
    >>> import ferromix as mx
    >>> class Negative(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> Negative()(mx.nd.ones((1, 1, 1))).item()
    254.0
    """

    def __call__(self, src: NDArray) -> NDArray:
        """The changed image."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class SequentialAug(Augmenter):
    """Several augmenters, one after the other.

    Parameters
    ----------
    ts
        The augmenters.
    """

    def __init__(self, ts: Any) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """The name, and what the augmenters are."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        """The image that all have changed."""
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class RandomOrderAug(SequentialAug):
    """Several augmenters, in an order that is drawn anew."""

    def __call__(self, src: NDArray) -> NDArray:
        """The image that all have changed."""
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """Gives the shorter side a length; see :func:`resize_short`."""

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The resized image."""
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resizes to a width and height, whatever the ratio."""

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The resized image."""
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, *self.size, interp=interpolation(self.interp, sizes))


class RandomCropAug(Augmenter):
    """Takes a random part; see :func:`random_crop`."""

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The part."""
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Takes a random part of random size and ratio; see :func:`random_size_crop`."""

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.interp = size, interp
        self.area, self.ratio = area_of("RandomSizedCropAug", area, kwargs), ratio

    def __call__(self, src: NDArray) -> NDArray:
        """The part."""
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """Takes the middle; see :func:`center_crop`."""

    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The part."""
        return center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Exchanges left and right with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        """The image, or its mirror image."""
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Changes the element type."""

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        """The image in that type."""
        return src.astype(self.typ)


class BrightnessJitterAug(Augmenter):
    """Multiplies by a number up to `brightness` away from 1."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        """The image, changed where it is."""
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


def _luma(image: NDArray) -> NDArray:
    """What each channel adds to gray."""
    return image * nd.array([[LUMA]], ctx=image.context, dtype=image.dtype)


class ContrastJitterAug(Augmenter):
    """Moves all samples from or to the mean of gray."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        """The image, changed where it is."""
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        gray = _luma(src)
        mean = nd.sum(gray) * (3.0 * (1.0 - alpha) / gray.size)
        src *= alpha
        src += mean
        return src


class SaturationJitterAug(Augmenter):
    """Moves each pixel from or to its gray."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        """The image, changed where it is."""
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        gray = nd.sum(_luma(src), axis=2, keepdims=True) * (1.0 - alpha)
        src *= alpha
        src += gray
        return src


class HueJitterAug(Augmenter):
    """Turns the colours by up to `hue` of half a circle."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        """The turned image."""
        alpha = random.uniform(-self.hue, self.hue) * math.pi
        sine, cosine = math.sin(alpha), math.cos(alpha)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        matrix = (_FROM_YIQ @ turn @ _TO_YIQ).T
        return nd.dot(src, nd.array(matrix, ctx=src.context, dtype=src.dtype))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, in a random order; those that are 0 are left out."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        ts: list[Augmenter] = []
        if brightness > 0:
            ts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            ts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            ts.append(SaturationJitterAug(saturation))
        super().__init__(ts)


class LightingAug(Augmenter):
    """Adds a random colour along the main axes of colours, as AlexNet was trained.

    Parameters
    ----------
    alphastd
        The standard deviation of the share of each axis.
    eigval, eigvec
        The length of the axes and their directions, by columns.
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        """The image, changed where it is."""
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        color = np.dot(np.asarray(self.eigvec) * alpha, np.asarray(self.eigval))
        src += nd.array(color, ctx=src.context, dtype=src.dtype)
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts a mean and divides by a standard deviation; see :func:`color_normalize`."""

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean = None if mean is None else _array(mean)
        self.std = None if std is None else _array(std)
        super().__init__(mean=self.mean, std=self.std)

    def __call__(self, src: NDArray) -> NDArray:
        """The image, changed where it is."""
        return color_normalize(src, self.mean, self.std)


def _array(values: Any) -> NDArray:
    return values if isinstance(values, NDArray) else nd.array(values)


class RandomGrayAug(Augmenter):
    """Takes the colours away with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        """The image, or the gray one."""
        return nd.dot(src, self.mat) if random.random() < self.p else src
