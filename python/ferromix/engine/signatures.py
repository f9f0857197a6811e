"""What functions that are to be operations can be called with."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from types import FunctionType, MethodType

from ..error import ArgumentTypeError, InvalidArgumentError

__all__ = ["name_of", "takes"]


def _keyword_only(fn: Callable[..., object]) -> list[str]:
    """Arguments that a function cannot be called without, nor given without their names."""
    plain = fn.__func__ if isinstance(fn, MethodType) else fn
    if isinstance(plain, FunctionType):
        code, defaults = plain.__code__, plain.__kwdefaults__ or {}
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        return [n for n in names if n not in defaults]
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


def _takes_one(fn: Callable[..., object]) -> bool:
    """Whether a function can be called with an argument; yes where nobody knows."""
    plain = fn.__func__ if isinstance(fn, MethodType) else fn
    if isinstance(plain, FunctionType):
        code = plain.__code__
        return code.co_argcount > (plain is not fn) or bool(code.co_flags & inspect.CO_VARARGS)
    try:
        inspect.signature(fn).bind(None)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _required(fn: Callable[..., object]) -> int:
    """How many arguments a function cannot be called without; 0 where nobody knows."""
    plain = fn.__func__ if isinstance(fn, MethodType) else fn
    if isinstance(plain, FunctionType):  # Without the detours of `inspect`, which take long.
        given = len(plain.__defaults__ or ()) + (plain is not fn)
        return max(plain.__code__.co_argcount - given, 0)
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def takes(fn: Callable[..., object], asynchronous: bool) -> tuple[bool, bool]:
    """Whether a function gets a RunContext, and whether an OnComplete."""
    if not callable(fn):
        raise InvalidArgumentError(f"fn must be callable, got {type(fn).__name__}")
    keywords = _keyword_only(fn)
    if keywords:
        raise InvalidArgumentError(
            f"fn is called without keywords, but {name_of(None, fn)} needs {', '.join(keywords)}; "
            "give them defaults, or wrap it in a lambda"
        )
    required = _required(fn)
    if required > 1 + asynchronous or (asynchronous and required == 0 and not _takes_one(fn)):
        wanted = (
            "an OnComplete, or a RunContext and an OnComplete" if asynchronous else "a RunContext"
        )
        raise InvalidArgumentError(
            f"fn must be callable with {'' if asynchronous else 'nothing or '}{wanted}, "
            f"but {name_of(None, fn)} {f'needs {required}' if required else 'takes no'} arguments"
        )
    return required > asynchronous, asynchronous


def name_of(name: str | None, fn: object) -> str:
    """What errors call an operation."""
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a string, got {reprlib.repr(name)}")
    return name or getattr(fn, "__name__", "python")
