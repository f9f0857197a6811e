"""What MXNet calls contributed; the operators among it are those of ``mx.nd.contrib``."""

from ..ndarray import contrib as nd
from ..ndarray import contrib as ndarray
from ..symbol import contrib as sym
from ..symbol import contrib as symbol
from . import onnx, tensorboard

__all__ = ["nd", "ndarray", "onnx", "sym", "symbol", "tensorboard"]
