"""``mx.nd.linalg``: the functions of the operators whose names begin with ``_linalg_``."""

from __future__ import annotations

from typing import Any

from ..ops.card import linalg_names
from .function import function


def __getattr__(name: str) -> Any:
    if name not in linalg_names():
        raise AttributeError(f"module 'ferromix.ndarray.linalg' has no attribute {name!r}")
    made = function(f"_linalg_{name}")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return linalg_names()
