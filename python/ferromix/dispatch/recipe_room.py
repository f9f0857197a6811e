"""Temporary memory, taken piece by piece."""

from __future__ import annotations

from .recipe import Arg, workspace

__all__ = ["Room"]

UNIT = 16
"""What pieces are aligned to."""


class Room:
    """What launches of a recipe share; `bytes` is how much there is of it until now."""

    def __init__(self) -> None:
        self.bytes = 0

    def take(self, count: int, width: int) -> Arg:
        """A piece for `count` elements of `width` bytes."""
        at = self.bytes
        self.bytes += -(-count * width // UNIT) * UNIT
        return workspace(at)
