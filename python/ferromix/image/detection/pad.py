"""Images put somewhere into larger ones of one colour."""

from __future__ import annotations

import math
import numbers
import random
from typing import Any

import numpy as np

from ...ndarray import NDArray
from ..codec import copyMakeBorder
from .augment import DetAugmenter
from .ranges import is_drawn, number, pair

__all__ = ["DetRandomPadAug"]

_ALMOST_HALF = 0.499999
"""Less than what rounds up to the next pixel."""


class DetRandomPadAug(DetAugmenter):
    """Puts an image anywhere in a larger one, so that objects get smaller; labels follow.

    Parameters
    ----------
    aspect_ratio_range
        The least and the largest ratio of width to height of the result, or the only one.
    area_range
        The least and the largest area of the result, in areas of the image, or the only one.
    max_attempts
        How many sizes are tried before the image is left as it is.
    pad_val
        What there is around the image: a number for each channel, or one for all.

    Raises
    ------
    InvalidArgumentError
        For what are no such numbers.

    Warns
    -----
    UserWarning
        For ranges that have nothing in them: images are left as they are.

    Examples
    --------
    >>> import random
    >>> import numpy as np
    >>> import ferromix as mx
    >>> random.seed(0)
    >>> augmenter = mx.image.DetRandomPadAug(area_range=(2, 3))
    >>> label = np.array([[0, 0.0, 0.0, 1.0, 1.0]])
    >>> image, label = augmenter(mx.nd.ones((20, 20, 3), dtype="uint8"), label)
    >>> image.shape[0] > 20, bool(label[0, 3] - label[0, 1] < 1)
    (True, True)
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        name = type(self).__name__
        self.aspect_ratio_range = pair(name, "aspect_ratio_range", aspect_ratio_range)
        self.area_range = pair(name, "area_range", area_range)
        self.max_attempts = number(name, "max_attempts", max_attempts, numbers.Integral)
        self.pad_val = pad_val
        for value in pad_val if isinstance(pad_val, (list, tuple)) else [pad_val]:
            number(name, "pad_val", value)
        super().__init__(
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.enabled = is_drawn(name, self.area_range, self.aspect_ratio_range, above=1)

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The larger image and its label, or what was given."""
        rows, columns = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and rows and columns else 0):
            width, height = self._size(rows, columns)
            below, right = height - rows, width - columns
            if below < 2 or right < 2:
                continue
            top, left = random.randint(0, below), random.randint(0, right)
            found = label.copy()
            found[:, (1, 3)] = (found[:, (1, 3)] * columns + left) / width
            found[:, (2, 4)] = (found[:, (2, 4)] * rows + top) / height
            return self._framed(src, (top, below - top, left, right - left)), found
        return src, label

    def _size(self, rows: int, columns: int) -> tuple[int, int]:
        """A width and height with an area and a ratio in their ranges, if that can be."""
        least, most = (share * rows * columns for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        low, high = round(math.sqrt(max(least, 0) / ratio)), round(math.sqrt(most / ratio))
        if round(low * ratio) < columns:
            low = int((columns + _ALMOST_HALF) / ratio)
        low = max(low, rows)
        height = random.randint(low, high) if low < high else high
        return round(height * ratio), height

    def _framed(self, src: NDArray, sides: tuple[int, int, int, int]) -> NDArray:
        if isinstance(self.pad_val, (list, tuple)):
            return copyMakeBorder(src, *sides, values=self.pad_val)
        return copyMakeBorder(src, *sides, value=self.pad_val)
