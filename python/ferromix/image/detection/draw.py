"""Boxes and names drawn into images by Pillow, and shown in a window by OpenCV."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...error import MXNetError

__all__ = ["drawn", "show"]

_WHITE = (255, 255, 255)
_GAP = 5
"""How far text is from the corner of its box."""


def _needed(module: str, package: str, purpose: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MXNetError(
            f"draw_next needs {package} {purpose}, which is not installed: pip install {package}"
        ) from None


def drawn(
    image: np.ndarray,
    label: np.ndarray,
    color: Any,
    thickness: int,
    names: dict[int, str] | None,
) -> np.ndarray:
    """The image with the boxes of its label, and their classes' names.

    Parameters
    ----------
    image
        uint8, of shape (height, width, 3), in the order of blue, green and red.
    label
        A row for each object, with ends as shares of width and height.
    color
        Of boxes, in the same order; None for any.
    thickness
        Of lines; negative for a full box.
    names
        What classes are called.

    Raises
    ------
    MXNetError
        If Pillow is not installed.
    """
    pillow = _needed("PIL.ImageDraw", "pillow", "to draw boxes")
    picture = pillow.Image.fromarray(image)
    draw = pillow.Draw(picture)
    height, width = image.shape[:2]
    for kind, *ends in label[:, :5]:
        left, upper, right, lower = (
            int(end * n) for end, n in zip(ends, (width, height) * 2, strict=True)
        )
        if left < 0:
            continue
        paint = tuple(map(int, np.random.rand(3) * 255 if color is None else color))
        box = (left, upper, max(left, right), max(upper, lower))
        draw.rectangle(box, paint if thickness < 0 else None, paint, max(thickness, 1))
        if names is not None and int(kind) in names:
            draw.text((left + _GAP, upper + _GAP), names[int(kind)], fill=_WHITE)
    return np.array(picture)


def show(name: str, image: np.ndarray, milliseconds: int) -> None:
    """Shows the image in a window until a key is pressed or the time is over.

    Raises
    ------
    MXNetError
        If OpenCV is not installed.
    """
    opencv = _needed("cv2", "opencv-python", "for a window")
    opencv.imshow(name, image)
    opencv.waitKey(milliseconds)
