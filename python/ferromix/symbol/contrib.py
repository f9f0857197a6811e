"""``mx.sym.contrib``: the functions of the operators whose names begin with ``_contrib_``."""

from __future__ import annotations

from typing import Any

from ..ops.card import contrib_names
from .functions import function


def __getattr__(name: str) -> Any:
    if name not in contrib_names():
        raise AttributeError(f"ferromix.symbol.contrib has no operator or attribute '{name}'")
    return function(f"_contrib_{name}")


def __dir__() -> list[str]:
    return contrib_names()
