"""Images in records: as MXNet, packed by OpenCV if it is installed, else by Pillow."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from ..base import as_int
from ..error import ArgumentTypeError, FileFormatError, InvalidArgumentError, MXNetError
from ..ndarray import NDArray
from .header import IRHeader, pack, unpack

__all__ = ["pack_img", "unpack_img"]

_JPEG = (".jpg", ".jpeg")
_PNG = ".png"


def pack_img(header: IRHeader, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """The bytes of a record with header and image.

    Needs OpenCV (``pip install opencv-python-headless``) or Pillow (``pip install pillow``).

    Parameters
    ----------
    header
        As for :func:`pack`.
    img
        Of shape (height, width), or (height, width, channels) with one grey channel, three in the
        order blue, green, red, or for PNG four, the last of them opacity. It is uint8, or uint16
        for a PNG of shape (height, width); floats become the nearest uint8.
    quality
        For JPEG 1 to 100, the higher the better; for PNG 0 to 9, the higher the smaller.
    img_fmt
        ``".jpg"``, ``".png"``, or the ending of another format that OpenCV or Pillow knows.

    Raises
    ------
    InvalidArgumentError
        For another format, a quality that is no int, or an array that is no such image.
    MXNetError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> blue = np.zeros((4, 6, 3), np.uint8)
    >>> blue[..., 0] = 255
    >>> record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 3, 7, 0), blue, 9, ".png")
    >>> header, image = mx.recordio.unpack_img(record)
    >>> header.label, image.shape, image[0, 0].tolist()
    (3.0, (4, 6, 3), [255, 0, 0])
    """
    if not isinstance(img_fmt, str):
        raise ArgumentTypeError(f"pack_img: img_fmt must be text, got {type(img_fmt).__name__}")
    kind = img_fmt.lower()
    quality = as_int("pack_img: quality", quality, -(2**31), 2**31 - 1)
    image = _checked(img, kind)
    if (cv2 := _optional("cv2")) is None:
        return pack(header, _encoded(image, kind, quality))
    parameters = {_PNG: [cv2.IMWRITE_PNG_COMPRESSION, quality]}
    parameters |= {end: [cv2.IMWRITE_JPEG_QUALITY, quality] for end in _JPEG}
    try:
        done, data = cv2.imencode(kind, image, parameters.get(kind))
    except cv2.error as error:
        raise InvalidArgumentError(f"pack_img: OpenCV cannot encode {kind!r}: {error}") from None
    if not done:
        raise InvalidArgumentError(f"pack_img: OpenCV cannot encode {kind!r}")
    return pack(header, data.tobytes())


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """Header and image of a record.

    Needs OpenCV (``pip install opencv-python-headless``) or Pillow (``pip install pillow``).

    Parameters
    ----------
    s
        The bytes of a record.
    iscolor
        1 for three channels, 0 for grey, -1 for those that the image has; its camera's note of what
        is up counts for 0 and 1.

    Returns
    -------
    header : IRHeader
        As :func:`unpack` gives it.
    img : numpy.ndarray
        Of shape (height, width), or (height, width, channels) in the order blue, green, red and
        opacity.

    Raises
    ------
    FileFormatError
        For data that are no image.
    MXNetError
        If neither OpenCV nor Pillow is installed.
    """
    iscolor = as_int("unpack_img: iscolor", iscolor, -1, 2**31 - 1)
    header, data = unpack(s)
    if (cv2 := _optional("cv2")) is not None:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), iscolor) if len(data) else None
        if image is None:
            raise FileFormatError(f"unpack_img: OpenCV finds no image in {_excerpt(data)}")
        return header, image
    module = _pillow("unpack_img")
    try:
        with module.open(io.BytesIO(data)) as image:
            return header, _decoded(image, iscolor)
    except (OSError, ValueError, SyntaxError, module.DecompressionBombError) as error:
        raise FileFormatError(f"unpack_img: no image in {_excerpt(data)}: {error}") from None


def _encoded(image: np.ndarray, kind: str, quality: int) -> bytes:
    """The file of an image, by Pillow."""
    module = _pillow("pack_img")
    known = module.registered_extensions()
    if kind not in known:
        raise InvalidArgumentError(
            f"pack_img: img_fmt must be '.jpg', '.png' or another ending that Pillow knows, "
            f"got {kind!r}"
        )
    # OpenCV, too, takes the nearest number that there is.
    options = {_PNG: {"compress_level": min(max(quality, 0), 9)}}
    options |= {end: {"quality": min(max(quality, 1), 100)} for end in _JPEG}
    out = io.BytesIO()
    try:
        pixels = module.fromarray(_reversed(image))
        pixels.save(out, format=known[kind], **options.get(kind, {}))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidArgumentError(f"pack_img: Pillow cannot encode {kind!r}: {error}") from None
    return out.getvalue()


def _decoded(image: Any, iscolor: int) -> np.ndarray:
    """The pixels of an image of Pillow's, as OpenCV gives them."""
    if iscolor >= 0:
        image = importlib.import_module("PIL.ImageOps").exif_transpose(image)
        return _reversed(np.asarray(image.convert("RGB" if iscolor else "L")))
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode not in ("L", "RGB", "RGBA", "I;16"):
        image = image.convert({"1": "L", "LA": "RGBA"}.get(image.mode, "RGB"))
    return _reversed(np.asarray(image))


def _checked(img: Any, kind: str) -> np.ndarray:
    image = img.asnumpy() if isinstance(img, NDArray) else img
    if not isinstance(image, np.ndarray):
        raise ArgumentTypeError(f"pack_img: img must be an array, got {type(img).__name__}")
    if image.dtype.kind == "f":
        image = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    channels = (1, 3) if kind in _JPEG else (1, 3, 4)
    fits = image.ndim == 2 or (image.ndim == 3 and image.shape[2] in channels)
    deep = image.dtype == np.uint16 and image.ndim == 2 and kind == _PNG
    if fits and (image.dtype == np.uint8 or deep) and image.size:
        return image
    raise InvalidArgumentError(
        "pack_img: img must be uint8 of shape (height, width) or (height, width, channels), with "
        f"{', '.join(map(str, channels))} channels for {kind}, "
        f"got {image.dtype} of shape {image.shape}"
    )


def _reversed(image: np.ndarray) -> np.ndarray:
    """With red and blue in each other's place, and without a channel that is the only one."""
    if image.ndim == 2:
        return np.array(image)
    channels = image.shape[2]
    order = {1: 0, 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    return np.ascontiguousarray(image[..., order])


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _pillow(function: str) -> Any:
    module = _optional("PIL.Image")
    if module is None:
        raise MXNetError(
            f"{function} needs OpenCV or Pillow, and neither is installed: "
            "pip install opencv-python-headless, or pip install pillow"
        )
    return module


def _excerpt(data: bytes) -> str:
    return f"{len(data)} bytes that begin with {bytes(data[:8]).hex(' ') or 'nothing'}"
