"""Automatic names of symbols: ``convolution0``, ``convolution1`` and so on, as scopes decide."""

from __future__ import annotations

from contextvars import Token
from typing import ClassVar, Self

from .base import ClassProperties
from .scope import InForce, current

__all__ = ["NameManager", "Prefix"]


class NameManager(metaclass=ClassProperties):
    """Gives names to symbols that have none; a ``with`` block puts it in force.

    Each thread starts with a manager of its own.

    Examples
    --------
    >>> with NameManager():
    ...     NameManager._current.value.get(None, "dot"), NameManager._current.value.get(None, "dot")
    ('dot0', 'dot1')
    """

    _current: ClassVar[InForce[NameManager]] = InForce("name_manager", lambda: NameManager())
    current = current("NameManager", False)

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._tokens: list[Token[NameManager | None]] = []

    def get(self, name: str | None, hint: str) -> str:
        """`name`, or the next free name made from `hint` if it is None.

        Parameters
        ----------
        name
            The name that the user gave, if any.
        hint
            The stem of an automatic name, commonly the operator in lower case.
        """
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self) -> Self:
        self._tokens.append(self._current.enter(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._current.leave(self._tokens.pop())


class Prefix(NameManager):
    """A manager that puts a prefix before every name, given or automatic.

    Examples
    --------
    >>> with Prefix("stage1_"):
    ...     NameManager._current.value.get("conv", "convolution")
    'stage1_conv'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix followed by `name` or an automatic name."""
        return self._prefix + super().get(name, hint)
