"""``mx.sym.linalg``: the functions of the operators whose names begin with ``_linalg_``."""

from __future__ import annotations

from typing import Any

from ..ops.card import linalg_names
from .functions import function


def __getattr__(name: str) -> Any:
    if name not in linalg_names():
        raise AttributeError(f"ferromix.symbol.linalg has no operator or attribute '{name}'")
    return function(f"_linalg_{name}")


def __dir__() -> list[str]:
    return linalg_names()
