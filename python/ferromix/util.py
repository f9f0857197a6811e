"""Scopes in which shapes are NumPy's, and small helpers that scripts take from ``mx.util``."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from . import _core
from .context import Context, gpu_memory_info, num_gpus, require_place
from .error import DTypeError

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "np_shape",
    "set_module",
    "set_np_shape",
    "setenv",
    "use_np_shape",
]

T = TypeVar("T")


def set_np_shape(active: bool) -> bool:
    """Sets whether this thread's shapes are NumPy's, and returns what was set before.

    If they are, ``()`` is the shape of a scalar and an extent of 0 one of no elements, -1 and None
    being unknown, and an index that names one element gives an array of shape ``()``. If not, as by
    default, symbols take ``()`` and 0 for unknown, and such an index gives the shape ``(1,)``.
    Arrays may have those shapes either way.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.set_np_shape(True)
    False
    >>> mx.set_np_shape(False)
    True
    """
    return _core.set_np_shape(bool(active))


def is_np_shape() -> bool:
    """Whether this thread's shapes are NumPy's; see :func:`set_np_shape`."""
    return _core.is_np_shape()


class _Scope:
    """What :func:`np_shape` gives."""

    def __init__(self, active: bool | None) -> None:
        self._active = active
        self._before: list[bool] = []

    def __enter__(self) -> None:
        if self._active is not None:
            self._before.append(set_np_shape(self._active))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._active is not None:
            set_np_shape(self._before.pop())


def np_shape(active: bool | None = True) -> _Scope:
    """A scope in which shapes are NumPy's, or are not; see :func:`set_np_shape`.

    Examples
    --------
    >>> import ferromix as mx
    >>> with mx.np_shape():
    ...     mx.sym.sin(mx.sym.var("x", shape=(0, 2))).infer_shape()[1]
    [(0, 2)]
    """
    return _Scope(active)


def use_np_shape(func: T) -> T:
    """A function, or a class with its methods and properties, that runs inside of :func:`np_shape`.

    Raises
    ------
    DTypeError
        For anything else.

    Examples
    --------
    >>> import ferromix as mx
    >>> @mx.use_np_shape
    ... def first(a):
    ...     return a[0].shape
    >>> first(mx.nd.ones((2,)))
    ()
    """
    if inspect.isclass(func):
        for name, member in list(vars(func).items()):
            wrapped = _wrapped(member)
            if wrapped is not member:
                setattr(func, name, wrapped)
        return func
    if not callable(func):
        raise DTypeError(f"use_np_shape takes functions and classes, got {type(func).__name__}")
    return _within(func)  # type: ignore[return-value]


def _within(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with np_shape():
            return function(*args, **kwargs)

    return run


def _wrapped(member: Any) -> Any:
    if isinstance(member, property):
        read, write, delete = (
            None if part is None else _within(part)
            for part in (member.fget, member.fset, member.fdel)
        )
        return property(read, write, delete, member.__doc__)
    if isinstance(member, (staticmethod, classmethod)):
        return type(member)(_within(member.__func__))
    return _within(member) if inspect.isfunction(member) else member


def is_np_array() -> bool:
    """False: there are no arrays of ``mx.np``."""
    return False


def set_module(module: str | None) -> Callable[[T], T]:
    """A decorator that says which module a function or class is to be found in."""

    def decorate(func: T) -> T:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def get_gpu_count() -> int:
    """The number of GPUs."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int | None:
    """The version of a GPU's instructions, 86 for 8.6; None for another device."""
    if not isinstance(ctx, Context):
        raise DTypeError(f"ctx must be a Context such as ferromix.gpu(0), got {ctx!r}")
    if ctx.device_type != "gpu":
        return None
    require_place(ctx)
    major, minor = _core.gpu_properties(ctx.device_id)[1]
    return major * 10 + minor


def getenv(name: str) -> str | None:
    """An environment variable, or None."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, or removes it for None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
