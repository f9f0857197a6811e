"""Arrays that share memory with other libraries: NumPy, DLPack, and Python's buffers.

Nobody outside is ordered by the engine. So whoever gets memory here gets it when everything pushed
before is done, and later operations on the array must be waited for, by ``wait_to_read`` or
``mx.nd.waitall``, before it is looked at again.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import _core
from ..base import as_int, require_kind
from ..error import ArgumentTypeError, DTypeError, InvalidArgumentError
from ..ops.param import dtype_name
from .ndarray import NDArray, from_values

__all__ = [
    "DLContext",
    "DLDataType",
    "DLManagedTensor",
    "DLTensor",
    "from_dlpack",
    "from_numpy",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
]


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: Any = NDArray) -> NDArray:
    """An array with the values of a NumPy array, by default in the same memory.

    Parameters
    ----------
    ndarray
        In C order, for `zero_copy`. It becomes read-only then, as the array may be written at any
        time; only the array should. It is kept as long as an operation uses its memory. If it was
        read-only before, so is the array.
    zero_copy
        Whether to use the memory of `ndarray`, instead of copying it.
    array_cls
        The class of the result.

    Raises
    ------
    InvalidArgumentError
        For `zero_copy`, if the elements are not in C order.
    DTypeError
        For a type that Ferromix lacks, or numbers in another byte order.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> values = np.zeros(2, np.float32)
    >>> a = mx.nd.from_numpy(values)
    >>> a += 1
    >>> a.wait_to_read()
    >>> values
    array([1., 1.], dtype=float32)
    """
    require_kind("from_numpy: ndarray", ndarray, np.ndarray, "a NumPy array")
    name = _type_of("from_numpy", ndarray.dtype)
    if not zero_copy:
        return from_values(ndarray, name)
    if not ndarray.flags.c_contiguous:
        raise InvalidArgumentError(
            "from_numpy: only arrays in C order can be used in place; "
            "use zero_copy=False, or numpy.ascontiguousarray"
        )
    # A buffer of no dimensions has no shape that could be looked at.
    handle = _core.from_buffer(ndarray if ndarray.ndim else ndarray.reshape(1), name)
    if not ndarray.ndim:
        handle = handle.view(0, (), ())
    ndarray.flags.writeable = False
    return array_cls(handle)


def _type_of(function: str, dtype: np.dtype) -> str:
    if not dtype.isnative:
        raise DTypeError(
            f"{function}: {dtype!r} is in another byte order than this machine's; "
            "convert it by astype(ndarray.dtype.newbyteorder('='))"
        )
    return dtype_name(dtype)


def from_dlpack(dlpack: Any) -> NDArray:
    """An array in the memory of a DLPack tensor.

    Parameters
    ----------
    dlpack
        A capsule, which can be taken once, or an object with ``__dlpack__``, such as an array of
        NumPy or PyTorch. What it refers to is kept as long as an operation uses its memory. If it
        is read-only, so is the array.

    Raises
    ------
    InvalidArgumentError
        For a capsule that was used before, a tensor on another device than the CPU, with elements
        that are not aligned, or that makes no sense.
    DTypeError
        For an element type that Ferromix lacks.
    ArgumentTypeError
        For anything else.
    BufferError
        For a tensor of another major version, or what its owner cannot export.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> mx.nd.from_dlpack(np.arange(3)).asnumpy()
    array([0, 1, 2])
    """
    if hasattr(dlpack, "__dlpack__"):
        dlpack = _capsule_of(dlpack)
    elif hasattr(dlpack, "__cuda_array_interface__"):
        return NDArray(_on_gpu(dlpack))
    elif type(dlpack).__name__ != "PyCapsule":
        raise ArgumentTypeError(
            "from_dlpack: expected a capsule of DLPack, or an object with __dlpack__, got "
            f"{type(dlpack).__name__}"
        )
    return NDArray(_core.from_dlpack(dlpack))


def _capsule_of(owner: Any) -> Any:
    kind, number = owner.__dlpack_device__() if hasattr(owner, "__dlpack_device__") else (1, 0)
    # On a GPU the owner has our stream wait, so that the host need not.
    where = {"stream": _core.gpu_arrivals(number)} if kind == _CUDA else {}
    try:
        try:
            return owner.__dlpack__(max_version=(1, 0), **where)
        except TypeError:  # from before there were versions
            return owner.__dlpack__(**where)
    except BufferError as error:
        raise InvalidArgumentError(
            f"from_dlpack: {type(owner).__name__} does not hand out its memory: {error}"
        ) from error


_CUDA = 2


def _on_gpu(owner: Any) -> _core.Array:
    """The array over what an object with ``__cuda_array_interface__`` says.

    Raises
    ------
    InvalidArgumentError
        An owner that says less than version 3 asks for, or has a mask.
    """
    given = owner.__cuda_array_interface__
    try:
        shape = [as_int("from_dlpack: an extent", extent, 0) for extent in given["shape"]]
        kind, (address, read_only) = np.dtype(given["typestr"]), given["data"]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"from_dlpack: the __cuda_array_interface__ of {type(owner).__name__} has no good "
            f"shape, typestr or data: {error!r}"
        ) from error
    name, strides, stream = _type_of("from_dlpack", kind), given.get("strides"), given.get("stream")
    if given.get("mask") is not None:
        raise InvalidArgumentError("from_dlpack: an array with a mask")
    if stream == 0:
        raise InvalidArgumentError(
            "from_dlpack: stream 0 says nothing; give 1, 2, the address of a stream, or None"
        )
    if strides is not None and any(stride % kind.itemsize for stride in strides):
        raise InvalidArgumentError(f"from_dlpack: strides of {strides} bytes for {kind}")
    if 0 in shape:  # its address may be 0, which is on no GPU
        return _core.Array(tuple(shape), name, _CUDA, 0)
    steps = None if strides is None else [stride // kind.itemsize for stride in strides]
    number = _core.gpu_of(address, stream)
    return _core.from_gpu(owner, number, address, shape, steps, name, read_only)


def to_dlpack_for_read(data: NDArray) -> Any:
    """A capsule of DLPack with the array's memory, once the writes pushed before are done.

    The memory is kept as long as somebody has the capsule, or what was made of it.

    Raises
    ------
    BufferError
        For an array that is read-only, which such a capsule cannot say; ``__dlpack__`` can.

    Examples
    --------
    >>> import ferromix as mx
    >>> x = mx.nd.ones((2, 3))
    >>> mx.nd.from_dlpack(mx.nd.to_dlpack_for_read(x)).shape
    (2, 3)
    """
    require_kind("to_dlpack_for_read: data", data, NDArray, "an NDArray")
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A capsule for somebody who writes, once everything pushed before is done.

    See :func:`to_dlpack_for_read`.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> x = mx.nd.ones((2,))
    >>> y = mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x))
    >>> y += 1
    >>> x.asnumpy()
    array([2., 2.], dtype=float32)
    """
    require_kind("to_dlpack_for_write: data", data, NDArray, "an NDArray")
    return data.to_dlpack_for_write()


class DLContext(ctypes.Structure):
    """A device of DLPack, for programs that make or read its structures themselves."""

    _fields_ = (("device_type", ctypes.c_int), ("device_id", ctypes.c_int))


class DLDataType(ctypes.Structure):
    """An element type of DLPack."""

    _fields_ = (
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )
    TYPE_MAP = {  # noqa: RUF012 - MXNet's
        "int32": (0, 32, 1),
        "int64": (0, 64, 1),
        "bool": (1, 1, 1),
        "uint8": (1, 8, 1),
        "uint32": (1, 32, 1),
        "uint64": (1, 64, 1),
        "float16": (2, 16, 1),
        "float32": (2, 32, 1),
        "float64": (2, 64, 1),
    }


class DLTensor(ctypes.Structure):
    """A tensor of DLPack: where its elements are, and how they lie."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("ctx", DLContext),
        ("ndim", ctypes.c_int),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    """A tensor of DLPack with what is called when it is no longer used."""


DLManagedTensor._fields_ = (
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))),
)
