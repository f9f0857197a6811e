"""How much is remembered of cards: much of built-in ones, little of those with a user's objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

__all__ = ["FEW", "remembered"]

FEW = 32
"""How many answers are remembered for cards that hold objects of a user's."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def remembered(most: int) -> Callable[[_Function], _Function]:
    """Has a function of a card, and what else can be hashed, remember `most` answers."""

    def decorate(function: _Function) -> _Function:
        many, few = lru_cache(most)(function), lru_cache(FEW)(function)

        @wraps(function)
        def answer(card: Any, *args: Any) -> Any:
            return (few if card.few_kept else many)(card, *args)

        return answer  # type: ignore[return-value]

    return decorate
