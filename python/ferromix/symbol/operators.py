"""The base of Symbol that has the operators as methods, found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ops.card import exists, names

__all__ = ["Operators", "method_names"]


class Operators:
    """Operators as methods: ``x.sum()`` is ``mx.sym.sum(x)``."""

    __slots__ = ()

    def _call(self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An operator of this symbol and what else it takes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if _is_method(name):
            return lambda *args, **kwargs: self._call(name, args, kwargs)
        raise AttributeError(f"a symbol has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *method_names()]


def method_names() -> list[str]:
    """Every public operator whose name is in lower case."""
    return list(filter(_is_method, names()))


def _is_method(name: str) -> bool:
    return name[0].isalpha() and name.islower() and exists(name)
