"""Automatic names of symbols: ``convolution0``, ``convolution1`` and so on, as scopes decide."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

__all__ = ["NameManager", "Prefix"]


class _InForce:
    """The manager in force, to read and to assign, as scripts of MXNet do without a block."""

    @property
    def value(self) -> NameManager:
        """The manager."""
        manager = _CURRENT.get()
        if manager is None:
            manager = NameManager()
            _CURRENT.set(manager)
        return manager

    @value.setter
    def value(self, manager: NameManager) -> None:
        _CURRENT.set(manager)


class _Current:
    """Reads the manager in force as a class attribute, which is MXNet's way to ask for it."""

    def __get__(self, instance: NameManager | None, owner: type) -> NameManager:
        return NameManager._current.value


class NameManager:
    """Gives names to symbols that have none; a ``with`` block puts it in force.

    Each thread starts with a manager of its own.

    Examples
    --------
    >>> with NameManager():
    ...     NameManager.current.get(None, "dot"), NameManager.current.get(None, "dot")
    ('dot0', 'dot1')
    """

    _current = _InForce()
    current = _Current()

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
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._tokens.pop())


class Prefix(NameManager):
    """A manager that puts a prefix before every name, given or automatic.

    Examples
    --------
    >>> with Prefix("stage1_"):
    ...     NameManager.current.get("conv", "convolution")
    'stage1_conv'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The prefix followed by `name` or an automatic name."""
        return self._prefix + super().get(name, hint)


_CURRENT: ContextVar[NameManager | None] = ContextVar("ferromix_name_manager", default=None)
