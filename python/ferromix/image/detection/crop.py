"""Random parts of images that keep enough of the objects in them."""

from __future__ import annotations

import math
import numbers
import random
from typing import Any

import numpy as np

from ...ndarray import NDArray
from ..crop import fixed_crop
from .augment import DetAugmenter
from .ranges import is_drawn, number, pair

__all__ = ["DetRandomCropAug"]

_ALMOST_HALF = 0.4999999
"""Less than what rounds up to the next pixel."""


class DetRandomCropAug(DetAugmenter):
    """Takes a random part of an image, in which enough of its objects is; labels follow.

    Parameters
    ----------
    min_object_covered
        The least share of an object that is in the part, for each that is in it at all.
    aspect_ratio_range
        The least and the largest ratio of width to height, or the only one.
    area_range
        The least and the largest share of the image's area, or the only one.
    min_eject_coverage
        Objects of which a smaller share is in the part are no longer in the label.
    max_attempts
        How many parts are tried before the image is left as it is.

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
    >>> random.seed(2)
    >>> augmenter = mx.image.DetRandomCropAug(min_object_covered=0.9, area_range=(0.5, 0.9))
    >>> label = np.array([[0, 0.4, 0.4, 0.6, 0.6]])
    >>> image, label = augmenter(mx.nd.ones((100, 100, 3)), label)
    >>> image.shape[0] < 100, label.shape
    (True, (1, 5))
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        name = type(self).__name__
        self.min_object_covered = number(name, "min_object_covered", min_object_covered)
        self.min_eject_coverage = number(name, "min_eject_coverage", min_eject_coverage)
        self.max_attempts = number(name, "max_attempts", max_attempts, numbers.Integral)
        self.aspect_ratio_range = pair(name, "aspect_ratio_range", aspect_ratio_range)
        self.area_range = pair(name, "area_range", area_range)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.enabled = is_drawn(name, self.area_range, self.aspect_ratio_range, above=0)

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The part and its label, or what was given."""
        rows, columns = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and rows and columns else 0):
            size = self._size(rows, columns)
            if size is None:
                continue
            width, height = size
            top = random.randint(0, rows - height)
            left = random.randint(0, columns - width)
            place = (left / columns, top / rows, (left + width) / columns, (top + height) / rows)
            if width * height < 2 or not self._covers(label, place, rows, columns):
                continue
            kept = self._kept(label, (place[0], place[1], width / columns, height / rows))
            if len(kept):
                return fixed_crop(src, left, top, width, height), kept
        return src, label

    def _size(self, rows: int, columns: int) -> tuple[int, int] | None:
        """A width and height with an area and a ratio in their ranges, or None."""
        least, most = (share * rows * columns for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        low, high = round(math.sqrt(max(least, 0) / ratio)), round(math.sqrt(most / ratio))
        if round(high * ratio) > columns:
            high = int((columns + _ALMOST_HALF) / ratio)
        high = min(high, rows)
        height = random.randint(low, high) if low < high else high
        # Rounding may lead just out of the range.
        if round(height * ratio) * height < least:
            height += 1
        if round(height * ratio) * height > most:
            height -= 1
        width = round(height * ratio)
        fits = least <= width * height <= most and 0 <= width <= columns and 0 <= height <= rows
        return (width, height) if fits else None

    def _covers(self, label: np.ndarray, place: Any, rows: int, columns: int) -> bool:
        """Whether enough is in the part of each object that has an extent and is in it at all."""
        areas = _areas(label[:, 1:5])
        whole = areas * columns * rows > 2
        boxes = label[whole, 1:5]
        boxes[:, :2] = np.maximum(boxes[:, :2], place[:2])
        boxes[:, 2:] = np.minimum(boxes[:, 2:], place[2:])
        shares = _areas(boxes) / areas[whole]
        shares = shares[shares > 0]
        return bool(shares.size and shares.min() > self.min_object_covered)

    def _kept(self, label: np.ndarray, place: tuple[float, float, float, float]) -> np.ndarray:
        """The labels of objects of which enough is in the part, as shares of it."""
        left, top, width, height = place
        found = label.copy()
        found[:, (1, 3)] -= left
        found[:, (2, 4)] -= top
        found[:, (1, 3)] /= width
        found[:, (2, 4)] /= height
        found[:, 1:5] = np.clip(found[:, 1:5], 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = _areas(found[:, 1:5]) * width * height / _areas(label[:, 1:5])
        kept = (found[:, 3] > found[:, 1]) & (found[:, 4] > found[:, 2])
        return found[kept & (shares > self.min_eject_coverage)]


def _areas(boxes: np.ndarray) -> np.ndarray:
    """The area of each box, 0 for one without an extent."""
    heights = np.maximum(0, boxes[:, 3] - boxes[:, 1])
    return heights * np.maximum(0, boxes[:, 2] - boxes[:, 0])
