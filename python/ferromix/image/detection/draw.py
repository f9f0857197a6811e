"""Boxes and names drawn into images, by OpenCV if it is installed, else by Pillow."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...error import MXNetError

__all__ = ["drawn", "libraries", "show"]

_WHITE = (255, 255, 255)
_SCALE, _STROKE, _GAP = 0.5, 2, 5
"""Of text: its size and thickness for OpenCV, and how far it is from the corner of the box."""


def libraries(with_window: bool) -> tuple[Any, Any]:
    """OpenCV, and Pillow where it is not installed.

    Raises
    ------
    MXNetError
        If neither is, or only OpenCV would do.
    """
    for name in ("cv2", "PIL.ImageDraw"):
        if with_window and name != "cv2":
            break
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return (module, None) if name == "cv2" else (None, module)
    needed = "OpenCV for a window" if with_window else "OpenCV or Pillow"
    install = "opencv-python" if with_window else "opencv-python-headless, or pip install pillow"
    raise MXNetError(f"draw_next needs {needed}, which is not installed: pip install {install}")


def drawn(
    modules: tuple[Any, Any],
    image: np.ndarray,
    label: np.ndarray,
    color: Any,
    thickness: int,
    names: dict[int, str] | None,
) -> np.ndarray:
    """The image with the boxes of its label, and their classes' names.

    Parameters
    ----------
    modules
        What :func:`libraries` gives.
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
    """
    height, width = image.shape[:2]
    for kind, *ends in label[:, :5]:
        left, upper, right, lower = (
            int(end * n) for end, n in zip(ends, (width, height) * 2, strict=True)
        )
        if left < 0:
            continue
        paint = tuple(map(int, np.random.rand(3) * 255 if color is None else color))
        box = (left, upper, max(left, right), max(upper, lower))
        text = None if names is None else names.get(int(kind))
        image = (_by_opencv if modules[0] else _by_pillow)(
            modules[0] or modules[1], image, box, paint, thickness, text
        )
    return image


def show(cv2: Any, name: str, image: np.ndarray, milliseconds: int) -> None:
    """Shows the image in a window until a key is pressed or the time is over."""
    cv2.imshow(name, image)
    cv2.waitKey(milliseconds)


def _by_opencv(
    cv2: Any, image: np.ndarray, box: Any, paint: Any, thickness: int, text: str | None
) -> np.ndarray:
    left, upper, right, lower = box
    cv2.rectangle(image, (left, upper), (right, lower), paint, thickness)
    if text is not None:
        font = cv2.FONT_HERSHEY_SIMPLEX
        height = cv2.getTextSize(text, font, _SCALE, _STROKE)[0][1]
        place = (left + _GAP, upper + height + _GAP)
        cv2.putText(image, text, place, font, _SCALE, _WHITE, _STROKE)
    return image


def _by_pillow(
    module: Any, image: np.ndarray, box: Any, paint: Any, thickness: int, text: str | None
) -> np.ndarray:
    picture = module.Image.fromarray(image)
    draw = module.Draw(picture)
    draw.rectangle(box, paint if thickness < 0 else None, paint, max(thickness, 1))
    if text is not None:
        draw.text((box[0] + _GAP, box[1] + _GAP), text, fill=_WHITE)
    return np.array(picture)
