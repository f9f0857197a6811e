"""Memory and errors of C code beside the package: pointers as buffers, messages as exceptions.

MXNet keeps these in ``mx.base``, from where users import them.
"""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from . import _core, error
from .error import DTypeError, MXNetError

__all__ = [
    "MXCallbackList",
    "c2pyerror",
    "ctypes2buffer",
    "ctypes2numpy_shared",
    "error_types",
    "get_last_ffi_error",
    "mx_float_p",
    "register_error",
]

C = TypeVar("C", bound=type)

mx_float_p = ctypes.POINTER(ctypes.c_float)
"""A pointer to float32 numbers."""


class MXCallbackList(ctypes.Structure):
    """A list of C functions, each with the pointer that it is called with."""

    _fields_: ClassVar[Any] = [
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    ]


def ctypes2buffer(cptr: Any, length: int) -> bytearray:
    """A copy of so many bytes behind a pointer to characters.

    Raises
    ------
    DTypeError
        A pointer to anything else.

    Examples
    --------
    >>> import ctypes
    >>> text = ctypes.cast(ctypes.create_string_buffer(b"abc"), ctypes.POINTER(ctypes.c_char))
    >>> ctypes2buffer(text, 3)
    bytearray(b'abc')
    """
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise DTypeError(f"cptr must be a pointer to characters, got {type(cptr).__name__}")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr: Any, shape: Sequence[int]) -> np.ndarray:
    """The float32 numbers behind a pointer as a NumPy array, which shares the memory.

    Whoever made the memory keeps it alive as long as the array is used.

    Raises
    ------
    DTypeError
        A pointer to anything else.

    Examples
    --------
    >>> import ctypes
    >>> numbers = (ctypes.c_float * 6)(*range(6))
    >>> ctypes2numpy_shared(ctypes.cast(numbers, mx_float_p), (2, 3))[1, 2]
    np.float32(5.0)
    """
    if not isinstance(cptr, mx_float_p):
        raise DTypeError(f"cptr must be a pointer to float32 numbers, got {type(cptr).__name__}")
    return np.ctypeslib.as_array(cptr, (prod(shape),)).reshape(shape)


error_types: dict[str, type[BaseException]] = {
    **{name: getattr(error, name) for name in error.__all__},
    **{
        name: getattr(builtins, name)
        for name in (
            "AttributeError",
            "IndexError",
            "NotImplementedError",
            "TypeError",
            "ValueError",
        )
    },
}
"""The classes that messages of C code name."""


@overload
def register_error(func_name: C) -> C: ...
@overload
def register_error(func_name: str | None = None, cls: None = None) -> Callable[[C], C]: ...
@overload
def register_error(func_name: str | None, cls: C) -> C: ...
def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Enters a class of errors into `error_types`, under its own name or `func_name`.

    For use as a decorator, with or without a name.

    Examples
    --------
    >>> @register_error("Late")
    ... class LateError(RuntimeError): ...
    >>> error_types["Late"] is LateError
    True
    """
    if isinstance(func_name, type):
        func_name, cls = None, func_name

    def enter(entered: C) -> C:
        error_types[func_name or entered.__name__] = entered
        return entered

    return enter if cls is None else enter(cls)


def c2pyerror(err_msg: str) -> tuple[str, str | None]:
    """The message of a C function as Python would show it, and the name of the error in it.

    What stands before the first colon is the name, if it could be one. A stack trace, which C code
    shows from the inside, goes first and the other way round.

    Examples
    --------
    >>> c2pyerror("ValueError: no such axis")
    ('ValueError: no such axis', 'ValueError')
    >>> c2pyerror("it failed")
    ('it failed', None)
    """
    name, colon, _ = err_msg.partition("\n")[0].partition(":")
    is_name = bool(colon) and all(c.isalnum() or c in "_." for c in name)
    message: list[str] = []
    trace: list[str] = []
    inside = False
    for line in err_msg.removesuffix("\n").split("\n"):
        inside = line.startswith("Stack trace") or (inside and line.startswith("  "))
        if not inside:
            message.append(line)
        elif line.startswith("  "):
            trace.append(line)
    if trace:
        message[:0] = ["Traceback (most recent call last):", *reversed(trace)]
    return "\n".join(message), name if is_name else None


def get_last_ffi_error() -> BaseException:
    """The error that the core has raised last on this thread, made anew.

    Its class is what `error_types` has for the name, or else `MXNetError`.

    Examples
    --------
    >>> import ferromix as mx
    >>> try:
    ...     mx.nd.ones((2, 3)).reshape((4,))
    ... except mx.MXNetError:
    ...     isinstance(get_last_ffi_error(), mx.MXNetError)
    True
    """
    name, message = _core.last_error()
    return error_types.get(name, MXNetError)(message)
