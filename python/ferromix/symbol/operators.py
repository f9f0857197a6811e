"""The base of Symbol that has the operators as methods; they are installed from the cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ops.card import builtin_names, exists

__all__ = ["Operators", "method_names"]


class Operators:
    """Operators as methods: ``x.sum()`` is ``mx.sym.sum(x)``."""

    __slots__ = ()

    def _call(self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An operator of this symbol and what else it takes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        # Operators that were registered later than the class was made.
        if _is_method(name):
            return lambda *args, **kwargs: self._call(name, args, kwargs)
        raise AttributeError(f"a symbol has no attribute '{name}'")


def method_names() -> list[str]:
    """Every public operator whose name is in lower case."""
    return list(filter(_is_method, builtin_names()))


def _is_method(name: str) -> bool:
    return name[0].isalpha() and name.islower() and exists(name)
