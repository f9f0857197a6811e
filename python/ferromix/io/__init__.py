"""Batches of data for training."""

from . import io, utils
from .csv import CSVIter
from .idx import read_idx, write_idx
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
