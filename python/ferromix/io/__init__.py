"""Batches of data for training."""

from .idx import read_idx, write_idx
from .iterator import DataBatch, DataDesc, DataIter
from .mnist import MNISTIter
from .ndarray_iter import NDArrayIter

__all__ = [
    "DataBatch",
    "DataDesc",
    "DataIter",
    "MNISTIter",
    "NDArrayIter",
    "read_idx",
    "write_idx",
]
