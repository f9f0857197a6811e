"""How trainings call what a user gave them to call: one function, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Callbacks", "call"]

Callbacks = Callable[..., Any] | Sequence[Callable[..., Any]] | None


def call(callbacks: Callbacks, *args: Any) -> None:
    """Calls one callback, or each of a list."""
    if callable(callbacks):
        callbacks(*args)
        return
    for callback in callbacks or ():
        callback(*args)
