"""Files of many records of bytes, such as images with their labels, in MXNet's RecordIO format."""

from .files import MXIndexedRecordIO, MXRecordIO
from .header import IRHeader, pack, unpack
from .image import pack_img, unpack_img

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]
