"""Batches of data for training."""

from .. import layout
from . import io, utils
from .csv import CSVIter
from .idx import read_idx, write_idx
from .image_detection import ImageDetRecordIter
from .image_records import (
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
)
from .iterator import DataBatch, DataDesc, DataIter
from .libsvm import LibSVMIter
from .mnist import MNISTIter
from .native import MXDataIter
from .ndarray_iter import NDArrayIter
from .prefetch import PrefetchingIter
from .resize import ResizeIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "io",
    "read_idx",
    "utils",
    "write_idx",
]

layout.enter("io")
