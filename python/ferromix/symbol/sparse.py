"""``mx.sym.sparse``: the functions of the operators that know sparse arrays.

They are those of ``mx.sym``: which storage types flow through a graph is decided when it is bound.
"""

from __future__ import annotations

from typing import Any

from ..ops.card import exists, names
from .functions import function

_NAMES = {
    "retain": "_sparse_retain",
    "gs_retain": "_sparse_retain",
    "adagrad_update": "_sparse_adagrad_update",
}


def __getattr__(name: str) -> Any:
    found = _NAMES.get(name, name)
    if not exists(found):
        raise AttributeError(f"ferromix.symbol.sparse has no operator or attribute '{name}'")
    made = function(found)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*names(), *_NAMES})
