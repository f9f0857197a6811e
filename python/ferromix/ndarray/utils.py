"""The names that MXNet has in ``mxnet.ndarray.utils``."""

from .creation import array, empty, zeros
from .ndarray import NDArray
from .serialize import load, load_frombuffer, save

__all__ = ["NDArray", "array", "empty", "load", "load_frombuffer", "save", "zeros"]
