"""The base of NDArray that has the operators as methods; they are installed from the cards."""

from __future__ import annotations

__all__ = ["Operators"]


class Operators:
    """Operators as methods: ``a.sum()`` is ``mx.nd.sum(a)``."""

    __slots__ = ()
