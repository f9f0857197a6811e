"""How trainings call what a user gave them to call: one function, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import _as_list

__all__ = ["Callbacks", "call"]

Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]] | None


def call(callbacks: Callbacks, *args: Any) -> None:
    """Calls one callback, or each of a list."""
    if callbacks is not None:
        for callback in _as_list(callbacks):
            callback(*args)
