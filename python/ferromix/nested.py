"""Lists within lists: taken apart, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .error import DTypeError
from .literal import brief

__all__ = ["Layout", "flatten", "regroup"]

Layout = Any
"""How members stood: None for one by itself, and a list of layouts for a list."""


def flatten(value: Any, kind: type, what: str) -> tuple[list[Any], Layout]:
    """The members of nested lists, in order, and how they stood.

    Parameters
    ----------
    value
        A member, or a list or tuple of such.
    kind
        What members are instances of.
    what
        What an error calls them.

    Raises
    ------
    DTypeError
        For something else.
    """
    if isinstance(value, kind):
        return [value], None
    if not isinstance(value, (list, tuple)):
        raise DTypeError(
            f"{what} must be one {kind.__name__} or nested lists of them, got {brief(value)} of "
            f"type {type(value).__name__}"
        )
    found = [flatten(v, kind, what) for v in value]
    return [m for members, _ in found for m in members], [layout for _, layout in found]


def regroup(members: Sequence[Any], layout: Layout) -> Any:
    """The members as `layout` says."""
    return _regroup(iter(members), layout)


def _regroup(members: Iterator[Any], layout: Layout) -> Any:
    if layout is None:
        return next(members)
    return [_regroup(members, inner) for inner in layout]
