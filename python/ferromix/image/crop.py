"""Parts of images, and images of a size.

Images have the shape (height, width, channels); sizes are (width, height). Random parts are drawn
by Python's `random`, as MXNet draws them.
"""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

from .. import ndarray as nd
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .codec import imresize

__all__ = [
    "area_of",
    "center_crop",
    "color_normalize",
    "fixed_crop",
    "interpolation",
    "random_crop",
    "random_size_crop",
    "resize_short",
    "scale_down",
]

Place = tuple[int, int, int, int]
"""Left, top, width and height."""


def interpolation(interp: int, sizes: tuple[int, int, int, int] | None = None) -> int:
    """The interpolation that a number asks for.

    Parameters
    ----------
    interp
        0 to 4: see :func:`imresize`. 9: area where the image shrinks, cubic where it grows,
        otherwise linear. 10: any.
    sizes
        The height and width before and after.

    Raises
    ------
    InvalidArgumentError
        For another number.
    """
    if interp == 10:
        return random.randint(0, 4)
    if interp == 9:
        if sizes is None:
            return 2
        height, width, rows, columns = sizes
        if rows > height and columns > width:
            return 2
        return 3 if rows < height and columns < width else 1
    if interp not in (0, 1, 2, 3, 4):
        raise InvalidArgumentError(f"interp must be 0 to 4, 9 or 10, got {interp!r}")
    return interp


def scale_down(src_size: Any, size: Any) -> tuple[int, int]:
    """The largest size with the ratio of `size` that fits into `src_size`, if `size` does not.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.scale_down((640, 480), (720, 120))
    (640, 106)
    """
    (width, height), (columns, rows) = size, src_size
    if rows < height:
        width, height = float(width * rows) / height, rows
    if columns < width:
        width, height = columns, float(height * columns) / width
    return int(width), int(height)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image with a shorter side of `size`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.resize_short(mx.nd.ones((40, 60, 3)), 20).shape
    (20, 30, 3)
    """
    height, width = src.shape[:2]
    if height > width:
        rows, columns = size * height // width, size
    else:
        rows, columns = size, size * width // height
    return imresize(src, columns, rows, interpolation(interp, (height, width, rows, columns)))


def fixed_crop(
    src: NDArray, x0: int, y0: int, w: int, h: int, size: Any = None, interp: int = 2
) -> NDArray:
    """A part of an image.

    Parameters
    ----------
    src
        The image.
    x0, y0, w, h
        The left and upper end of the part, its width and height.
    size
        What the part is resized to.
    interp
        See :func:`interpolation`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.fixed_crop(mx.nd.ones((40, 60, 3)), 10, 5, 20, 30, size=(2, 3)).shape
    (3, 2, 3)
    """
    part = nd.slice(src, begin=(y0, x0, 0), end=(y0 + h, x0 + w, src.shape[2]))
    if size is None or (w, h) == tuple(size):
        return part
    sizes = (h, w, size[1], size[0])
    return imresize(part, *size, interp=interpolation(interp, sizes))


def random_crop(src: NDArray, size: Any, interp: int = 2) -> tuple[NDArray, Place]:
    """A part of this size, or of its ratio and resized to it, and where it was.

    Examples
    --------
    >>> import ferromix as mx
    >>> part, place = mx.image.random_crop(mx.nd.ones((40, 60, 3)), (20, 10))
    >>> part.shape, place[2:]
    ((10, 20, 3), (20, 10))
    """
    rows, columns = src.shape[:2]
    width, height = scale_down((columns, rows), size)
    left, top = random.randint(0, columns - width), random.randint(0, rows - height)
    part = fixed_crop(src, left, top, width, height, size, interp)
    return part, (left, top, width, height)


def center_crop(src: NDArray, size: Any, interp: int = 2) -> tuple[NDArray, Place]:
    """The middle of this size, or of its ratio and resized to it, and where it was.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.center_crop(mx.nd.ones((40, 60, 3)), (20, 10))[1]
    (20, 15, 20, 10)
    """
    rows, columns = src.shape[:2]
    width, height = scale_down((columns, rows), size)
    left, top = int((columns - width) / 2), int((rows - height) / 2)
    part = fixed_crop(src, left, top, width, height, size, interp)
    return part, (left, top, width, height)


def random_size_crop(
    src: NDArray, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any
) -> tuple[NDArray, Place]:
    """A part of a random area and ratio, resized to `size`, and where it was.

    Parameters
    ----------
    src, size, interp
        As for :func:`fixed_crop`.
    area
        The least and the largest share of the image; or the least one.
    ratio
        The least and the largest ratio of width and height.
    **kwargs
        ``min_area``: the old name of `area`.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.image.random_size_crop(mx.nd.ones((40, 60, 3)), (8, 4), 0.5, (0.75, 1.33))[0].shape
    (4, 8, 3)
    """
    area = area_of("random_size_crop", area, kwargs)
    rows, columns = src.shape[:2]
    low, high = area if isinstance(area, (list, tuple)) else (area, 1.0)
    for _ in range(10):
        wanted = random.uniform(low, high) * rows * columns
        shape = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        width = round(math.sqrt(wanted * shape))
        height = round(math.sqrt(wanted / shape))
        if width <= columns and height <= rows:
            left, top = random.randint(0, columns - width), random.randint(0, rows - height)
            part = fixed_crop(src, left, top, width, height, size, interp)
            return part, (left, top, width, height)
    return center_crop(src, size, interp)


def area_of(function: str, area: Any, kwargs: dict[str, Any]) -> Any:
    """`area`, also under the old name that MXNet warns of."""
    if "min_area" in kwargs:
        warnings.warn("min_area is called area", DeprecationWarning, 3)
        area = kwargs.pop("min_area")
    if kwargs:
        raise InvalidArgumentError(f"{function}: unknown: {', '.join(kwargs)}")
    return area


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """Subtracts `mean` from an image of floats, and divides it by `std`, in its own memory.

    Examples
    --------
    >>> import ferromix as mx
    >>> image = mx.nd.ones((1, 1, 3)) * 5
    >>> mx.image.color_normalize(image, mx.nd.array([1, 2, 3]), mx.nd.array([2, 2, 2])).asnumpy()
    array([[[2. , 1.5, 1. ]]], dtype=float32)
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src
