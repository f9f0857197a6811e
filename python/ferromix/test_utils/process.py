"""What belongs to the process in which tests run: its device, its environment, its messages."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..context import Context, current_context, num_gpus
from ..error import InvalidArgumentError
from ..util import getenv, setenv

__all__ = [
    "EnvManager",
    "default_context",
    "discard_stderr",
    "environment",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "retry",
    "set_default_context",
    "set_env_var",
]

F = TypeVar("F", bound=Callable[..., Any])


def default_context() -> Context:
    """The device that tests use: the current one."""
    return current_context()


def set_default_context(ctx: Context | str) -> None:
    """Makes a device the current one of this thread from now on.

    >>> import ferromix as mx
    >>> mx.test_utils.set_default_context(mx.cpu(0))
    """
    Context(ctx).__enter__()


def list_gpus() -> list[int]:
    """The numbers of all GPUs."""
    return list(range(num_gpus()))


def has_tvm_ops() -> bool:
    """Whether there are operators made by TVM: never."""
    return False


def is_op_runnable() -> bool:
    """Whether operators run on the current device: always, as none is made by TVM."""
    return True


def is_cd_run() -> bool:
    """Whether the environment says that what is tested is to be released (``CD_JOB=1``)."""
    return os.environ.get("CD_JOB", "0") == "1"


def is_aarch64_run() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return platform.machine() in ("aarch64", "arm64")


def retry(n: int) -> Callable[[F], F]:
    """A decorator that runs a test again where it raises AssertionError, up to `n` times in all.

    >>> from ferromix.test_utils import retry
    >>> tries = []
    >>> @retry(3)
    ... def test():
    ...     tries.append(None)
    ...     assert len(tries) == 2
    >>> test(), len(tries)
    (None, 2)
    """
    if n < 1:
        raise InvalidArgumentError(f"retry: {n} tries")

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            for _ in range(n - 1):
                with contextlib.suppress(AssertionError):
                    return function(*args, **kwargs)
            return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """A ``with`` block without the messages that it writes to the standard error, also those of
    native code.
    """
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        with open(os.devnull, "w") as sink, contextlib.redirect_stderr(sink):
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """A ``with`` block in which environment variables have other values.

    Parameters
    ----------
    *args
        A name and a value, or a dict of values by name; None for a variable that is not there.

    Examples
    --------
    >>> import os, ferromix as mx
    >>> with mx.test_utils.environment("A_VARIABLE", "1"):
    ...     os.environ["A_VARIABLE"]
    '1'
    >>> "A_VARIABLE" in os.environ
    False
    """
    if len(args) == 2:
        wanted: Mapping[str, Any] = {args[0]: args[1]}
    elif len(args) == 1 and isinstance(args[0], Mapping):
        wanted = args[0]
    else:
        raise InvalidArgumentError(f"environment takes a name and a value, or a dict, got {args!r}")
    before = {name: os.environ.get(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, None if value is None else str(value))
        yield
    finally:
        for name, value in before.items():
            setenv(name, value)


def set_env_var(key: str, val: str, default_val: str = "") -> str:
    """Sets an environment variable; returns what it was, or `default_val`."""
    before = getenv(key)
    setenv(key, str(val))
    return default_val if before is None else before


class EnvManager:
    """As :func:`environment`, for one variable.

    >>> import os, ferromix as mx
    >>> with mx.test_utils.EnvManager("A_VARIABLE", "1"):
    ...     os.environ["A_VARIABLE"]
    '1'
    """

    def __init__(self, key: str, val: str | None) -> None:
        self._within = environment(key, val)

    def __enter__(self) -> None:
        self._within.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._within.__exit__(*error)
