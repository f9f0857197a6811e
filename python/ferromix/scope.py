"""What a ``with`` block puts in force in its thread, as MXNet's classes show it.

A class has it in two attributes: ``current`` is what is in force, and ``_current.value`` the same,
to assign, too, as scripts do without a block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

__all__ = ["Current", "InForce"]

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


class Current(Generic[T]):
    """Reads ``_current.value`` as an attribute of the class."""

    def __get__(self, instance: object, owner: Any) -> T:
        return owner._current.value
