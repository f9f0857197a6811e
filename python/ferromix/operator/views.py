"""NumPy's view of an array's memory, without a copy, for functions that run as operations."""

from __future__ import annotations

import numpy as np

from .._core import Array, Variable
from ..error import InvalidArgumentError
from ..ndarray import NDArray

__all__ = ["numpy_view"]


class _Memory:
    """What NumPy asks for the memory of an array, and keeps."""

    def __init__(self, array: Array, dtype: np.dtype, read_only: bool) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "data": (array.address(), read_only),
            "shape": array.shape,
            "strides": tuple(s * dtype.itemsize for s in array.strides),
            "typestr": dtype.str,
        }


def numpy_view(array: NDArray) -> np.ndarray:
    """The memory of an array as a NumPy array, without a copy.

    Only inside of a function that runs as an operation and has the array: ``forward`` and
    ``backward`` of an operator, or a function that was pushed with it. A space of a resource counts
    as given where the resource's variable is. What the operation only reads cannot be written. The
    view must not be used when the function has returned.

    Parameters
    ----------
    array
        An NDArray; one of bfloat16 shows its bits, as uint16.

    Raises
    ------
    InvalidArgumentError
        Outside of such a function, or for another array; for one on a GPU, which the CPU does not
        reach.

    Examples
    --------
    >>> import ferromix as mx
    >>> a = mx.nd.array([3, 1, 2])
    >>> def sort():
    ...     mx.operator.numpy_view(a).sort()
    >>> mx.engine.push(sort, mutable_vars=[a])
    >>> a.asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    if array.context.device_type == "gpu":
        raise InvalidArgumentError(
            f"numpy_view: the CPU does not reach the memory of {array.context}; use asnumpy, which "
            "copies, and assign"
        )
    handle, keeper = array.handle, array.handle.attached
    lent = isinstance(keeper, (Array, Variable))
    may_read, may_write = keeper.held if lent else handle.held
    if not may_read:
        raise InvalidArgumentError(
            "numpy_view: is for the function of an operation, and for arrays that the operation "
            "was pushed with; elsewhere use asnumpy, which waits and copies"
        )
    if lent:
        handle.wait_to_write()  # what was pushed on it, which its own variable orders
    dtype = np.dtype(np.uint16 if array.dtype_name == "bfloat16" else array.dtype)
    return np.asarray(_Memory(handle, dtype, not may_write))
