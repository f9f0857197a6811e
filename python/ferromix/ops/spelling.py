"""How a graph spells an attribute: as its user did, where MXNet reads that.

MXNet keeps the text of what was given, ``"[3, 3]"`` for a list and ``"1"`` for a bool that was an
int, and scripts compare such texts. What Ferromix takes and MXNet does not, such as ``8.0`` for an
int, is spelled as the typed value is, so that MXNet loads every graph.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from .param import Kind

__all__ = ["SPELLED", "spelled"]

SPELLED: Final = (str, int, float, tuple, list, np.integer, np.bool_)
"""Types of what has a text of its own."""

_INT = r"[+-]?[0-9]+"
_LONG = rf"{_INT}L?"
_REAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?f?"


def _list_of(member: str) -> str:
    members = rf"{member}(?: *, *{member})*,?"
    return rf"\((?:{members})?\)|\[(?:{members})?\]|{member}"


_READ: Final[dict[str, re.Pattern[str]]] = {
    kind: re.compile(pattern, re.ASCII)
    for kind, pattern in (
        ("bool", "True|False|true|false|1|0"),
        ("int", _INT),
        ("float", _REAL),
        ("shape", _list_of(_LONG)),
        ("axis", _list_of(_LONG)),
        ("slots", _list_of(rf"(?:None|{_LONG})")),
        ("floats", _list_of(_REAL)),
    )
}
"""What MXNet reads; words and types of elements have one spelling each."""


def spelled(kind: Kind, value: Any) -> str | None:
    """The text of what was given as an attribute of a kind, or None if MXNet does not read it."""
    pattern = _READ.get(kind)
    text = None if pattern is None else _text(value)
    return text if pattern and text is not None and pattern.fullmatch(text) else None


def _text(value: Any) -> str | None:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    # Of single precision NumPy prints fewer digits than there are, and a graph that is loaded would
    # compute with others.
    if isinstance(value, (str, float)):
        return str(value)
    if not isinstance(value, (tuple, list)):
        return None
    members = [_text(v) if v is not None else "None" for v in value]
    if None in members:
        return None
    body = ", ".join(map(str, members))
    if isinstance(value, list):
        return f"[{body}]"
    return f"({body},)" if len(members) == 1 else f"({body})"
