"""``mx.sym.contrib``: the functions of the operators whose names begin with ``_contrib_``,
steps of optimizers, and classes drawn by Zipf's law.
"""

from __future__ import annotations

from typing import Any

from ..ops.card import contrib_names
from . import steps
from .functions import function
from .random import rand_zipfian

__all__ = ["rand_zipfian"]


def __getattr__(name: str) -> Any:
    if name in steps.__all__:
        return getattr(steps, name)
    if name not in contrib_names():
        raise AttributeError(f"ferromix.symbol.contrib has no operator or attribute '{name}'")
    return function(f"_contrib_{name}")


def __dir__() -> list[str]:
    return sorted([*contrib_names(), *steps.__all__, "rand_zipfian"])
