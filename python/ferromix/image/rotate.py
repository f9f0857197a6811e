"""Images turned about their middle."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["imrotate", "random_rotate"]


def imrotate(
    src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Turns images about their middle, linear between pixels; zeros are outside.

    Parameters
    ----------
    src
        An image in float32 of shape (channels, height, width), or a batch of such.
    rotation_degrees
        The angle, counter-clockwise; for a batch also an array of an angle for each.
    zoom_in
        Whether to enlarge the image until nothing outside of it is seen.
    zoom_out
        Whether to shrink it until all of it is seen.

    Returns
    -------
    NDArray
        Of the shape of `src`.

    Raises
    ------
    ArgumentTypeError
        Another type than float32; angles in an array for one image.
    InvalidArgumentError
        Another number of axes, both zooms, or another number of angles.

    Examples
    --------
    >>> import ferromix as mx
    >>> image = mx.nd.array([[[1, 2], [3, 4]]])
    >>> mx.image.imrotate(image, 180).asnumpy().round(3).tolist()
    [[[4.0, 3.0], [2.0, 1.0]]]
    """
    if zoom_in and zoom_out:
        raise InvalidArgumentError("imrotate: zoom_in and zoom_out cannot both be true")
    if src.dtype_name != "float32":
        raise ArgumentTypeError(f"imrotate: src must be float32, got {src.dtype_name}")
    if len(src.shape) not in (3, 4):
        raise InvalidArgumentError(
            "imrotate: src must have the shape (channels, height, width), or one more axis for a "
            f"batch, got {src.shape}"
        )
    degrees = rotation_degrees
    if isinstance(degrees, NDArray):
        if len(src.shape) == 3:
            raise ArgumentTypeError("imrotate: the angle of one image must be a number")
        degrees = degrees.asnumpy()
    images = src.asnumpy().reshape((-1, *src.shape[-3:]))
    angles = np.deg2rad(np.asarray(degrees, "float32"))
    if angles.ndim and angles.shape != (len(images),):
        raise InvalidArgumentError(
            f"imrotate: {len(images)} images need as many angles, got the shape {angles.shape}"
        )
    angles = np.broadcast_to(angles, len(images))
    turned = [
        _turned(image, float(angle), zoom_in, zoom_out)
        for image, angle in zip(images, angles, strict=True)
    ]
    found = np.array(turned, "float32").reshape(src.shape)
    return nd.array(found, ctx=src.context, dtype="float32")


def _zoom(height: int, width: int, angle: float, zoom_in: bool, zoom_out: bool) -> float:
    """How many pixels of the image there are to one of the result."""
    if not (zoom_in or zoom_out):
        return 1.0
    diagonal, slope = math.hypot(height, width), math.atan2(height, width)
    corners = (slope + abs(angle), slope - abs(angle))
    wide = max(abs(diagonal * math.cos(corner)) for corner in corners)
    high = max(abs(diagonal * math.sin(corner)) for corner in corners)
    if zoom_out:
        return max(wide / width, high / height)
    return min(width / wide, height / high)


def _turned(image: np.ndarray, angle: float, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    height, width = image.shape[1:]
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    zoom = _zoom(height, width, angle, zoom_in, zoom_out)
    y, x = np.mgrid[:height, :width].astype("float64")
    y, x = (y - middle_y) * zoom, (x - middle_x) * zoom
    sine, cosine = math.sin(angle), math.cos(angle)
    return _sampled(image, x * sine + y * cosine + middle_y, x * cosine - y * sine + middle_x)


def _sampled(image: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The image at places between its pixels."""
    framed = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    height, width = framed.shape[1:]
    top, left = np.floor(y), np.floor(x)
    down, right = y - top, x - left
    total = np.zeros((len(image), *y.shape))
    for below, beside in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share = (down if below else 1 - down) * (right if beside else 1 - right)
        # The frame is zero, and so is what is further out.
        row = np.clip(top + below + 1, 0, height - 1).astype(int)
        column = np.clip(left + beside + 1, 0, width - 1).astype(int)
        total += framed[:, row, column] * share
    return total


def random_rotate(
    src: NDArray, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Turns images by random angles; see :func:`imrotate`.

    Parameters
    ----------
    src, zoom_in, zoom_out
        As for :func:`imrotate`.
    angle_limits
        The least and the largest angle, in degrees.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.random_rotate(mx.nd.ones((1, 3, 3)), (-10, 10)).shape
    (1, 3, 3)
    """
    low, high = angle_limits
    if len(src.shape) == 3:
        angle: Any = random.uniform(low, high)
    else:
        angle = nd.array(np.random.uniform(low, high, size=len(src)))
    return imrotate(src, angle, zoom_in, zoom_out)
