"""Labels of detection: which numbers of a record or list describe which object."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from ...error import FileFormatError
from ...ndarray import NDArray

__all__ = ["has_object", "objects"]

_LEAST = 5
"""Class, left, upper, right and lower end of an object."""


def objects(where: str, label: Any) -> np.ndarray:
    """The objects of a label that have an extent, a row for each.

    Parameters
    ----------
    where
        What an error calls the image.
    label
        Numbers: how many there are in front of the objects, these two included; how many each
        object has, at least 5; what else is in front; and the objects, each as its class, left,
        upper, right and lower end as shares of width and height, and possibly more.

    Raises
    ------
    FileFormatError
        For numbers that do not say this, or a label without such an object.
    """
    raw = np.ravel(label.asnumpy() if isinstance(label, NDArray) else label)
    if raw.size < 2 + _LEAST or not np.isfinite(raw[:2]).all():
        raise FileFormatError(
            f"{where}: a label for detection begins with the widths of its head and of an object, "
            f"and has at least {2 + _LEAST} numbers, got {reprlib.repr(raw.tolist())}"
        )
    head, width = int(raw[0]), int(raw[1])
    if head < 2 or width < _LEAST or raw.size <= head or (raw.size - head) % width:
        raise FileFormatError(
            f"{where}: a label must have a head of at least 2 numbers and whole objects of at "
            f"least {_LEAST}, got {raw.size} numbers, with a head of {head} and objects of {width}"
        )
    found = raw[head:].reshape(-1, width)
    found = found[_have_extents(found)]
    if not len(found):
        raise FileFormatError(f"{where}: no object in the label has a width and a height")
    return found


def has_object(label: np.ndarray) -> bool:
    """Whether some object has a class and an extent."""
    return bool((_have_extents(label) & (label[:, 0] >= 0)).any())


def _have_extents(label: np.ndarray) -> np.ndarray:
    return (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
