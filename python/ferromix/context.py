"""Devices: where arrays live and operators run."""

from __future__ import annotations

import re
import reprlib
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from . import _core
from .base import ClassProperties, as_int, classproperty
from .error import ArgumentTypeError, DeviceError, InvalidArgumentError

__all__ = [
    "Context",
    "as_context",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
    "placement",
    "require_place",
    "spelled",
]


_MOST = 2**16 - 1
"""The last number that a device may have."""

_NAME = re.compile(r"(\w+)(?:\(\s*(-?\d+)\s*\))?")


def _get_default(cls: type[Context]) -> Context:
    """The device of new arrays; deprecated for `current_context`."""
    _warn_of_default(4)
    return current_context()


def _set_default(cls: type[Context], value: Context) -> None:
    _warn_of_default(5)
    _make_current(as_context(value))


class Context(metaclass=ClassProperties):
    """A device, by kind and number; usable as a ``with`` block that sets the default device.

    Parameters
    ----------
    device_type
        ``"cpu"``, ``"gpu"``, ``"cpu_pinned"``, ``"cpu_shared"``, or another context to copy.
    device_id
        The number of the device among its kind.

    Examples
    --------
    >>> import ferromix as mx
    >>> with mx.Context("cpu", 0):
    ...     mx.nd.zeros((2,)).context
    cpu(0)
    """

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {v: k for k, v in devtype2str.items()}
    _default: ClassVar[threading.local] = threading.local()
    default_ctx = classproperty(_get_default).setter(_set_default)

    __slots__ = ("_outer", "device_id", "device_typeid")

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        elif isinstance(device_type, str) and device_type in self.devstr2type:
            self.device_typeid = self.devstr2type[device_type]
            # MXNet cuts fractions off.
            whole = isinstance(device_id, float) and abs(device_id) < _MOST
            self.device_id = as_int("device_id", int(device_id) if whole else device_id)
        else:
            raise InvalidArgumentError(
                f"unknown device type {reprlib.repr(device_type)}; "
                f"known: {', '.join(self.devstr2type)}"
            )
        self._outer: list[Context] = []

    @property
    def device_type(self) -> str:
        """The kind of the device."""
        return self.devtype2str[self.device_typeid]

    @property
    def compute(self) -> Context:
        """Where operators on this memory run: all memory of the CPU belongs to the ``cpu``."""
        if self.device_typeid in (1, 2):
            return self
        return Context("cpu", self.device_id)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __reduce__(self) -> tuple[type[Context], tuple[str, int]]:
        return Context, (self.device_type, self.device_id)

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def empty_cache(self) -> None:
        """Gives memory that is kept for reuse back to the system.

        Memory that arrays use stays theirs.

        Examples
        --------
        >>> import ferromix as mx
        >>> array = mx.nd.ones((1000, 1000), ctx=mx.cpu(1))
        >>> del array
        >>> mx.cpu(1).empty_cache()
        """
        _core.storage_trim(0, *placement(self))

    def __enter__(self) -> Context:
        outer = current_context()
        _make_current(self)
        self._outer.append(outer)
        return self

    def __exit__(self, *_: object) -> None:
        _make_current(self._outer.pop())


def _warn_of_default(depth: int) -> None:
    warnings.warn(
        "Context.default_ctx is deprecated; use mx.current_context() and `with` blocks of contexts",
        DeprecationWarning,
        stacklevel=depth,
    )


def _make_current(context: Context) -> None:
    number = as_int("the number of a device", context.device_id, 0, _MOST)
    _core.set_device(context.device_typeid, number)
    Context._default.value = context


_CPU = Context("cpu", 0)


def cpu(device_id: int = 0) -> Context:
    """The CPU.

    Each number is a device with memory of its own, so that programs for several devices can be
    tried on the CPU alone. All of them compute with the same cores.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.ones((2,), ctx=mx.cpu(1)).context
    cpu(1)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Page-locked memory of the CPU, which a device copies from without a detour.

    Operators run on it as on any other; their results are on the ``cpu`` of the same number. Where
    the system does not let the process lock so much memory (``ulimit -l``), arrays use ordinary
    memory, and a :class:`RuntimeWarning` says so once.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.ones((2,), ctx=mx.cpu_pinned()).context
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Context:
    """Memory that processes share (Linux).

    An array there that is sent to another process by :mod:`multiprocessing` is not copied: both
    have the same memory, see each other's writes, and order them by their own means. The memory
    goes with the last array on it in any process, also if processes are killed. A process must not
    end before others have received what it sent.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.nd.ones((2,)).as_in_context(mx.cpu_shared()).context
    cpu_shared(0)
    """
    return Context("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Context:
    """The GPU of a number."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs there are: those of NVIDIA's driver, none where that is missing.

    Examples
    --------
    >>> import ferromix as mx
    >>> devices = [mx.gpu(i) for i in range(mx.num_gpus())] or [mx.cpu()]
    """
    return _core.gpu_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of the memory of a GPU.

    What arrays no longer use counts as used while the pool keeps it: see :mod:`ferromix.storage`.

    Raises
    ------
    DeviceError
        A GPU that is not there.
    """
    number = as_int("device_id", device_id, 0, _MOST)
    count = num_gpus()
    if number >= count:
        raise DeviceError(f"gpu({number}) has no memory to tell of: the process has {count} GPUs")
    return _core.gpu_memory_info(number)


def current_context() -> Context:
    """The device that new arrays are placed on."""
    return getattr(Context._default, "value", _CPU)


def as_context(given: Context | str | None) -> Context:
    """The device that an argument means; the current one for None.

    Parameters
    ----------
    given
        A context, or how one is printed, such as ``"cpu(0)"``; the number may be left out.

    Raises
    ------
    InvalidArgumentError
        For a string that is no device.
    ArgumentTypeError
        For anything else.

    Examples
    --------
    >>> from ferromix.context import as_context
    >>> as_context("cpu_pinned(0)")
    cpu_pinned(0)
    """
    if isinstance(given, Context):
        return given
    if given is None:
        return current_context()
    if not isinstance(given, str):
        raise ArgumentTypeError(
            f"ctx must be a Context such as ferromix.cpu(), or its name, got {reprlib.repr(given)}"
        )
    parts = _NAME.fullmatch(given)
    if parts is None or parts[1] not in Context.devstr2type:
        raise InvalidArgumentError(
            f"ctx must be a device such as 'cpu(0)', got {reprlib.repr(given)}; "
            f"known: {', '.join(Context.devstr2type)}"
        )
    return Context(parts[1], int(parts[2] or 0))


def spelled(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of an operator with contexts as strings, and without a ``ctx=None``."""
    named = {
        name: str(value) if isinstance(value, Context) else value
        for name, value in kwargs.items()
        if name != "ctx" or value is not None
    }
    return [str(value) if isinstance(value, Context) else value for value in args], named


def require_place(context: Context | str | None) -> Context:
    """`context`, if there is such a device.

    Raises
    ------
    InvalidArgumentError
        For a number that no device has.
    DeviceError
        For a GPU that is not there; the message says what to do.
    """
    context = as_context(context)
    if context.device_type == "gpu" and context.device_id >= (count := num_gpus()):
        if count == 0:
            try:
                _core.gpu_arrivals(min(context.device_id, _MOST))
            except DeviceError as error:  # says why there is none
                raise DeviceError(f"cannot place an array on {context}: {error}") from error
        there = f"from {gpu(0)} on" if count else "of which each needs NVIDIA's driver"
        raise DeviceError(
            f"cannot place an array on {context}: the process has {count} GPUs, {there}; or use "
            "ferromix.cpu()"
        )
    if not 0 <= context.device_id <= _MOST:
        raise InvalidArgumentError(
            f"cannot place an array on {context}: devices have the numbers 0 to {_MOST}"
        )
    return context


def placement(context: Context | str | None) -> tuple[int, int]:
    """The core's name for the memory of `context`, by default that of the current one."""
    if context is None:
        context = current_context()
    if context is _CPU:
        return 1, 0
    context = require_place(context)
    return context.device_typeid, context.device_id
