"""The function ``mx.nd.Custom``, which is made anew where an operator of its was replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import call, card, custom
from .function import function, with_storage

__all__ = ["Custom", "forget"]

_made: list[Callable[..., Any]] = []


def Custom(*data: Any, **kwargs: Any) -> Any:  # noqa: N802 - MXNet's name
    """See the card, whose documentation this function has."""
    if custom.says_of_storage(kwargs.get("op_type")):
        return with_storage(custom.Custom, data, kwargs)
    return (_made or _make())[0](*data, **kwargs)


def _make() -> list[Callable[..., Any]]:
    _made[:] = [function("Custom")]
    return _made


def forget() -> None:
    """Lets go of what the function knows of operators."""
    _made.clear()


Custom.__module__ = "ferromix.ndarray"
Custom.__doc__ = call.describe(card.find("Custom"))
Custom.__signature__ = call.signature(  # type: ignore[attr-defined]
    card.find("Custom"), extra=("out", "name")
)
