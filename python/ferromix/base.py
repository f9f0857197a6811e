"""Small vocabulary shared by the front, and what MXNet's users import from ``mx.base``."""

from __future__ import annotations

import importlib
import inspect
import operator
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from . import libinfo
from .error import (
    ArgumentTypeError,
    InvalidArgumentError,
    MXNetError,
    NotImplementedForSymbol,
    NotSupportedForSparseNDArray,
)
from .foreign import (
    MXCallbackList,
    c2pyerror,
    ctypes2buffer,
    ctypes2numpy_shared,
    error_types,
    get_last_ffi_error,
    mx_float_p,
    register_error,
)
from .literal import MOST_AXES, brief, extent, members

__all__ = [
    "ClassProperties",
    "MXCallbackList",
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "ShapeLike",
    "add_fileline_to_docstring",
    "as_int",
    "as_shape",
    "c2pyerror",
    "classproperty",
    "ctypes2buffer",
    "ctypes2numpy_shared",
    "data_dir",
    "data_dir_default",
    "error_types",
    "get_last_ffi_error",
    "integer_types",
    "libinfo",
    "mx_float_p",
    "mx_real_t",
    "numeric_types",
    "py_str",
    "register_error",
    "require_kind",
    "string_types",
]

mx_real_t = np.float32
"""The type of arrays by default."""

numeric_types = (float, int, np.generic)
string_types = (str,)
integer_types = (int, np.int32, np.int64)
"""What counts as a number, a text and an integer, for ``isinstance``."""

ShapeLike = int | Sequence[int]
"""An extent, or a sequence of extents."""


def py_str(x: bytes) -> str:
    """The text of bytes in UTF-8.

    >>> mx.base.py_str(b"data")
    'data'
    """
    return x.decode("utf-8")


def require_kind(what: str, value: object, kind: type | tuple[type, ...], words: str) -> None:
    """Refuses an argument that is no instance of `kind`, which `words` describe.

    Raises
    ------
    ArgumentTypeError
        Names the argument by `what`.
    """
    if not isinstance(value, kind):
        raise ArgumentTypeError(f"{what} must be {words}, got {brief(value)}")


def as_int(what: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """The int that an argument is, NumPy's included.

    Parameters
    ----------
    what
        What errors call the argument.
    value
        What was passed.
    low, high
        The range, both ends included; no `high` without `low`.

    Raises
    ------
    ArgumentTypeError
        For anything else, floats included.
    InvalidArgumentError
        For one below `low` or above `high`.
    """
    wanted = "an int" if low is None else f"an int >= {low}"
    if high is not None:
        wanted = f"an int of {low} to {high}"
    try:
        found = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{what} must be {wanted}, got {brief(value)}") from None
    if (low is not None and found < low) or (high is not None and found > high):
        raise InvalidArgumentError(f"{what} must be {wanted}, got {brief(found)}")
    return found


def _as_list(obj: Any) -> Any:
    """A list or a tuple as it is, and anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def _is_extent(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def as_shape(shape: Any) -> tuple[int, ...]:
    """A tuple of extents from an int, a sequence or an array of ints, or the text of one.

    Raises
    ------
    InvalidArgumentError
        For anything else, a negative extent, or one that no memory could hold.
    """
    if type(shape) is tuple and len(shape) <= MOST_AXES and all(map(_is_extent, shape)):
        return shape  # What most callers pass, without the detours.
    try:
        found = members(shape, extent)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InvalidArgumentError(
            f"a shape must be ints of 64 bits, {MOST_AXES} at most, got {brief(shape)}"
        ) from None
    if any(d < 0 for d in found):
        raise InvalidArgumentError(f"a shape cannot have negative extents, got {brief(found)}")
    return found


def data_dir_default() -> str:
    """The folder for downloaded data sets and models where ``MXNET_HOME`` names none."""
    if platform.system() == "Windows":
        return os.path.join(os.environ.get("APPDATA", str(Path.home())), "mxnet")
    return os.path.join("~", ".mxnet")


def data_dir() -> str:
    """The folder for downloaded data sets and models: ``MXNET_HOME``, or that of the user."""
    return os.environ.get("MXNET_HOME", data_dir_default())


class ClassProperty:
    """A property of a class and of its instances; `classproperty` makes it."""

    def __init__(self, get: Callable[[Any], Any]) -> None:
        self._get = get
        self._set: Callable[[Any, Any], None] | None = None

    def __get__(self, instance: object, owner: type) -> Any:
        return self._get(owner)

    def __set__(self, instance: object, value: Any) -> None:
        self.assign(type(instance), value)

    def assign(self, owner: type, value: Any) -> None:
        """Sets it, if it has a setter."""
        if self._set is None:
            raise MXNetError(f"a class property of {owner.__name__} that cannot be set")
        self._set(owner, value)

    def setter(self, func: Callable[[Any, Any], None]) -> ClassProperty:
        """A decorator for the function that sets it."""
        self._set = func
        return self


class ClassProperties(type):
    """The metaclass of classes whose `classproperty` can be set on the class."""

    def __setattr__(cls, name: str, value: Any) -> None:
        found = cls.__dict__.get(name)
        if isinstance(found, ClassProperty):
            found.assign(cls, value)
        else:
            super().__setattr__(name, value)


def classproperty(func: Callable[[Any], Any]) -> ClassProperty:
    """A decorator: the function, of the class, is a property of the class.

    With a ``setter``, and the metaclass `ClassProperties`, it can be set there, too.

    Examples
    --------
    >>> class Depth:
    ...     @classproperty
    ...     def limit(cls):
    ...         return cls.__name__, 3
    >>> Depth.limit
    ('Depth', 3)
    """
    return ClassProperty(func)


def add_fileline_to_docstring(module: ModuleType | str, incursive: bool = True) -> None:
    """Says in each docstring of a module where the function or class is defined.

    Parameters
    ----------
    module
        The module, or its name.
    incursive
        Whether methods of classes are told, too.
    """
    found = importlib.import_module(module) if isinstance(module, str) else module
    for value in list(vars(found).values()):
        if inspect.isfunction(value) and value.__module__ == found.__name__:
            _add_fileline(value)
        elif inspect.isclass(value) and value.__module__ == found.__name__ and incursive:
            for method in vars(value).values():
                if inspect.isfunction(method):
                    _add_fileline(method)


def _add_fileline(function: FunctionType) -> None:
    code = function.__code__
    if function.__doc__ and "From:" not in function.__doc__:
        function.__doc__ += f"\n\nFrom:{code.co_filename}:{code.co_firstlineno}"
