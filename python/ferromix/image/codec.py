"""Images read from files and bytes, in another size, with a border, and turned.

Decoding and resizing run in the core, and give what OpenCV gives; arrays are height by width by
channels, of red, green and blue.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from .. import _core, files
from .. import ndarray as nd
from ..error import ArgumentTypeError, InvalidArgumentError
from ..ndarray import NDArray
from ..ops.param import Param

__all__ = ["copyMakeBorder", "imdecode", "imread", "imresize"]

_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")
"""NumPy's words for OpenCV's ways to make a border, by number."""
_FLAG = Param("int", low=0, high=1)
_BOOL = Param("bool")
_SIDE = Param("int", low=1, high=1 << 20)
_MARGIN = Param("int", low=0, high=1 << 20)
_INTERP = Param("int", low=0, high=5)
_ISOLATED = 16
"""What OpenCV adds to the number of a border that looks at the image alone, as all do here."""
_BORDER = Param("int", low=0, high=_ISOLATED + len(_BORDERS) - 1)


def imread(
    filename: str | PathLike[str], flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """Reads and decodes an image; see :func:`imdecode`.

    Parameters
    ----------
    filename
        A file in JPEG or PNG.
    flag, to_rgb, out
        As for :func:`imdecode`.

    Raises
    ------
    OSError
        The file cannot be read.
    FileFormatError
        It is no such image; names the file.
    """
    return _decoded(fspath(filename), files.read(filename), flag, to_rgb, out)


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None) -> NDArray:
    """Decodes an image in JPEG or PNG.

    Parameters
    ----------
    buf
        Its bytes: bytes, a bytearray, or a NumPy array or NDArray of uint8.
    flag
        1 for colours, 0 for gray.
    to_rgb
        Whether colours are red, green and blue, rather than blue, green and red.
    out
        An array to write to.

    Returns
    -------
    NDArray
        uint8, of shape (height, width, 3), or (height, width, 1) for gray.

    Raises
    ------
    ArgumentTypeError
        For other things than bytes.
    FileFormatError
        What is no such image, or damaged.

    Examples
    --------
    >>> import ferromix as mx
    >>> pixel = bytes.fromhex(
    ...     "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415478"
    ...     "9c63e04a9103000108008de9c1544d0000000049454e44ae426082"
    ... )
    >>> mx.image.imdecode(pixel).asnumpy().tolist()
    [[[10, 100, 30]]]
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if isinstance(buf, np.ndarray) and buf.dtype == np.uint8:
        buf = buf.tobytes()
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            "imdecode: buf must be bytes, a bytearray, or an array of uint8, got "
            f"{type(buf).__name__}"
        )
    return _decoded("imdecode", bytes(buf), flag, to_rgb, out)


def _decoded(name: str, data: bytes, flag: Any, to_rgb: Any, out: NDArray | None) -> NDArray:
    is_color = _FLAG.parse("imdecode", "flag", flag) == 1
    is_rgb = _BOOL.parse("imdecode", "to_rgb", to_rgb)
    shape, samples = _core.decode_image(name, data, is_color)
    image = np.frombuffer(samples, np.uint8).reshape(shape)
    return _given(image if is_rgb else image[..., ::-1], out)


def _given(image: np.ndarray, out: NDArray | None) -> NDArray:
    """The image as an array, or in the one that is wanted."""
    if out is None:
        return nd.array(image, dtype=image.dtype)
    out[:] = image
    return out


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """An image in another size.

    Parameters
    ----------
    src
        An image of shape (height, width, channels), in uint8, float32 or float64.
    w, h
        The new width and height.
    interp
        0: the nearest sample; 1: linear between two; 2: cubic, of four; 3: the mean of the area;
        4: Lanczos, of eight. As in OpenCV, only 3 averages where the image shrinks.
    out
        An array to write to.

    Raises
    ------
    InvalidArgumentError
        For another shape, element type, size or interpolation.

    Examples
    --------
    >>> import ferromix as mx
    >>> image = mx.nd.array([[[0], [100]], [[100], [200]]], dtype="uint8")
    >>> mx.image.imresize(image, 1, 1).asnumpy().tolist()
    [[[100]]]
    """
    columns, rows = _SIDE.parse("imresize", "w", w), _SIDE.parse("imresize", "h", h)
    number = _INTERP.parse("imresize", "interp", interp)
    if len(src.shape) != 3 or 0 in src.shape:
        raise InvalidArgumentError(
            f"imresize: src must have the shape (height, width, channels), got {src.shape}"
        )
    if src.dtype_name not in ("uint8", "float32", "float64"):
        raise InvalidArgumentError(
            f"imresize: src must be uint8, float32 or float64, got {src.dtype_name}; use astype"
        )
    target = np.empty((rows, columns, src.shape[2]), src.dtype)
    _core.resize_image(src.asnumpy(), target, number)
    return _given(target, out)


def copyMakeBorder(  # noqa: N802 - MXNet's name
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | None = None,
) -> NDArray:
    """An image with a border.

    Parameters
    ----------
    src
        An image of shape (height, width, channels).
    top, bot, left, right
        How many samples are added on each side.
    type
        What with: 0 a constant, 1 the outermost sample, 2 the image mirrored, 3 the image from the
        other side, 4 the image mirrored at its outermost sample; or 16 more than these.
    value
        The constant.
    values
        A constant for each channel instead; channels beyond them get 0.
    out
        An array to write to.

    Raises
    ------
    InvalidArgumentError
        For another shape, a negative number, or an unknown type.

    Examples
    --------
    >>> import ferromix as mx
    >>> image = mx.nd.ones((1, 1, 3), dtype="uint8")
    >>> mx.image.copyMakeBorder(image, 0, 0, 1, 0, values=(7, 8, 9)).asnumpy().tolist()
    [[[7, 8, 9], [1, 1, 1]]]
    """
    given = {"top": top, "bot": bot, "left": left, "right": right}
    sides = [_MARGIN.parse("copyMakeBorder", name, n) for name, n in given.items()]
    kind = _border(type)
    if len(src.shape) != 3 or 0 in src.shape:
        raise InvalidArgumentError(
            f"copyMakeBorder: src must have the shape (height, width, channels), got {src.shape}"
        )
    margins = ((sides[0], sides[1]), (sides[2], sides[3]), (0, 0))
    image = src.asnumpy()
    if kind:
        return _given(np.pad(image, margins, _BORDERS[kind]), out)  # type: ignore[arg-type]
    rows, columns = (n + sum(m) for n, m in zip(image.shape[:2], margins[:2], strict=True))
    framed = np.empty((rows, columns, src.shape[2]), image.dtype)
    framed[:] = _constants(tuple(values) or (value,) * src.shape[2], framed)
    framed[sides[0] : rows - sides[1], sides[2] : columns - sides[3]] = image
    return _given(framed, out)


def _border(number: Any) -> int:
    """Which of the ways to make a border a number asks for."""
    kind = _BORDER.parse("copyMakeBorder", "type", number)
    if kind % _ISOLATED < len(_BORDERS):
        return kind % _ISOLATED
    raise InvalidArgumentError(
        f"copyMakeBorder: attribute 'type' must be 0 to {len(_BORDERS) - 1}, or 16 more, got {kind}"
    )


def _constants(values: tuple[float, ...], image: np.ndarray) -> np.ndarray:
    """A number for each channel, rounded and limited to what the element type holds."""
    channels = image.shape[2]
    found = np.zeros(channels)
    found[: len(values)] = values[:channels]
    if image.dtype.kind in "iu":
        limits = np.iinfo(image.dtype)
        found = np.clip(np.rint(found), limits.min, limits.max)
    return found
