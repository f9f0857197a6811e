"""What a ``with`` block puts in force in its thread, as MXNet's classes show it.

A class has it in ``_current.value``, to read and to assign, as scripts do without a block, and
under its deprecated name ``current``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

from .base import ClassProperty, classproperty

__all__ = ["InForce", "current"]

T = TypeVar("T")


class InForce(Generic[T]):
    """What is in force in each thread.

    Parameters
    ----------
    name
        What it is called among the variables of a context.
    first
        Makes what a thread begins with.
    """

    def __init__(self, name: str, first: Callable[[], T]) -> None:
        self._variable: ContextVar[T | None] = ContextVar(name, default=None)
        self._first = first

    @property
    def value(self) -> T:
        """What is in force."""
        found = self._variable.get()
        if found is None:
            self.value = found = self._first()
        return found

    @value.setter
    def value(self, one: T) -> None:
        self._variable.set(one)

    def enter(self, one: T) -> Token[T | None]:
        """Puts another in force; the result ends that."""
        return self._variable.set(one)

    def leave(self, token: Token[T | None]) -> None:
        """Puts in force what was before."""
        self._variable.reset(token)


def current(name: str, warns_when_set: bool) -> ClassProperty:
    """The property ``current`` of a class, which is ``_current.value`` under its old name.

    Parameters
    ----------
    name
        What the warning calls the class.
    warns_when_set
        Whether one warns, too, who sets it; in MXNet not of every class.
    """
    message = f"{name}.current has been deprecated. It is advised to use the `with` statement "
    message += f"with {name}."

    def get(cls: Any) -> Any:
        warnings.warn(message, DeprecationWarning, 3)
        return cls._current.value

    def put(cls: Any, value: Any) -> None:
        if warns_when_set:
            warnings.warn(message, DeprecationWarning, 4)
        cls._current.value = value

    return classproperty(get).setter(put)
