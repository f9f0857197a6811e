"""``mx.nd.contrib``: the functions of the operators whose names begin with ``_contrib_``,
steps of optimizers, and masks.
"""

from __future__ import annotations

from typing import Any

from ..ops.card import contrib_names
from . import masks, steps
from .function import function


def __getattr__(name: str) -> Any:
    for module in (masks, steps):
        if name in module.__all__:
            return getattr(module, name)
    if name not in contrib_names():
        raise AttributeError(f"module 'ferromix.ndarray.contrib' has no attribute {name!r}")
    made = function(f"_contrib_{name}")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted([*contrib_names(), *masks.__all__, *steps.__all__])
