"""One image of a list, read, brought to size and packed as a record."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from .. import files, recordio
from ..error import MXNetError
from ..image import imdecode, imresize
from ..ndarray import array
from .lists import Entry

__all__ = ["Encoder"]

_PNG = b"\x89PNG"


class Encoder:
    """Makes records of the entries of a list.

    Parameters
    ----------
    options
        Those of the command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    def __call__(self, entry: Entry) -> tuple[bytes | None, str]:
        """The record; None, and the reason, if there is no such image."""
        try:
            return self._record(entry), ""
        except (OSError, MXNetError) as error:
            return None, f"{type(error).__name__}: {error}"

    def _record(self, entry: Entry) -> bytes:
        options = self._options
        first, *others = entry.labels
        label = entry.labels if others and options.pack_label else first
        header = recordio.IRHeader(0, label, entry.number, 0)
        data = files.read(os.path.join(options.root, entry.path))
        if options.pass_through:
            return recordio.pack(header, data)
        image = _decoded(data, options.color)
        if options.center_crop:
            image = _square(image)
        if options.resize:
            image = _resized(image, options.resize)
        if options.encoding == ".jpg" and image.ndim == 3 and image.shape[2] == 4:
            image = image[:, :, :3]  # JPEG has no opacity
        return recordio.pack_img(header, image, options.quality, options.encoding)


def _decoded(data: bytes, color: int) -> np.ndarray:
    """Rows by columns by blue, green and red."""
    if color == 0 and data.startswith(_PNG):
        return imdecode(data, 0).asnumpy()  # Pillow weighs colours otherwise
    # By OpenCV or Pillow, which also turn an image as its camera says.
    packed = recordio.pack(recordio.IRHeader(0, 0, 0, 0), data)
    return recordio.unpack_img(packed, color)[1]


def _square(image: np.ndarray) -> np.ndarray:
    """The square in the middle, as large as can be."""
    rows, columns = image.shape[:2]
    side = min(rows, columns)
    top, left = (rows - side) // 2, (columns - side) // 2
    return image[top : top + side, left : left + side]


def _resized(image: np.ndarray, shorter: int) -> np.ndarray:
    rows, columns = image.shape[:2]
    if rows > columns:
        rows, columns = rows * shorter // columns, shorter
    else:
        rows, columns = shorter, columns * shorter // rows
    planes: Any = image if image.ndim == 3 else image[:, :, None]
    done = imresize(array(planes, dtype=planes.dtype), columns, rows).asnumpy()
    return done if image.ndim == 3 else done[:, :, 0]
