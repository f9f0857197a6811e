"""Saved states of iterators: what comes back from a file is checked before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..error import ArgumentTypeError, InvalidArgumentError

__all__ = ["as_state", "require_same"]


def as_state(state: Any) -> Mapping[str, Any]:
    """What was given as a state, if it is a dict; raises ArgumentTypeError otherwise."""
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(
            "load_state_dict: a state must be a dict, as state_dict gives it, "
            f"got {type(state).__name__}"
        )
    return state


def require_same(state: Any, settings: Mapping[str, Any]) -> None:
    """Raises InvalidArgumentError for a state that differs in one of the settings, naming it."""
    known = as_state(state)
    for name, value in settings.items():
        if known.get(name) != value:
            raise InvalidArgumentError(
                f"load_state_dict: the state is of an iterator with {name}="
                f"{known.get(name)!r}, but this one has {value!r}"
            )
