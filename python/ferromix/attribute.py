"""Attributes that a ``with`` block gives to all symbols made inside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Token
from typing import ClassVar, Self

from .base import ClassProperties
from .error import DTypeError, InvalidArgumentError
from .scope import InForce, current

__all__ = ["AttrScope", "check_attributes", "hide", "show"]

HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")
"""Keys that may be written without underscores and are stored with them."""


class AttrScope(metaclass=ClassProperties):
    """Attributes for the symbols made in a ``with`` block; inner scopes win over outer ones.

    Parameters
    ----------
    **attrs
        The attributes; every value is a string. Keys that no operator knows take the form
        ``__key__``; ``ctx_group``, ``lr_mult``, ``wd_mult``, ``force_mirroring`` and
        ``mirror_stage`` may be written plainly.

    Raises
    ------
    InvalidArgumentError
        If a value is not a string.

    Examples
    --------
    >>> with AttrScope(ctx_group="dev1"):
    ...     AttrScope._current.value.get({"__mood__": "calm"})
    {'__ctx_group__': 'dev1', '__mood__': 'calm'}
    """

    _current: ClassVar[InForce[AttrScope]] = InForce("attr_scope", lambda: AttrScope())
    current = current("AttrScope", True)

    def __init__(self, **attrs: str) -> None:
        self._attr = check_attributes(attrs)
        self._outer: list[tuple[Token[AttrScope | None], dict[str, str]]] = []

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The scope's attributes together with `attr`, which wins."""
        return {**self._attr, **check_attributes(attr or {})}

    def __enter__(self) -> Self:
        own = self._attr
        self._attr = {**AttrScope._current.value._attr, **own}
        self._outer.append((self._current.enter(self), own))
        return self

    def __exit__(self, *_: object) -> None:
        token, self._attr = self._outer.pop()
        self._current.leave(token)


def check_attributes(attrs: Mapping[str, str]) -> dict[str, str]:
    """`attrs` under the keys in which they are stored.

    Raises
    ------
    InvalidArgumentError
        If a value is not a string.
    DTypeError
        If they are no dict.
    """
    if not isinstance(attrs, Mapping):
        raise DTypeError(f"the attributes of a symbol must be a dict of strings, got {attrs!r}")
    for key, value in attrs.items():
        if not isinstance(value, str):
            raise InvalidArgumentError(
                f"attribute '{key}' of a symbol must be a string, got {value!r}"
            )
    return {hide(key): value for key, value in attrs.items()}


def hide(key: str) -> str:
    """The key under which an attribute is stored."""
    return f"__{key}__" if key in HIDDEN_KEYS else key


def show(attrs: Mapping[str, str]) -> dict[str, str]:
    """`attrs` as a user sees them: the plain spelling of hidden keys stands beside the stored."""
    plain = {f"__{key}__": key for key in HIDDEN_KEYS}
    found = dict(attrs)
    found.update({plain[key]: value for key, value in attrs.items() if key in plain})
    return found
