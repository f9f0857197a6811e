"""Symbols: computations described before they run.

``mx.sym.<operator>`` exists for every registered operator under each of its names; the functions
are made from the cards when they are first asked for.
"""

from __future__ import annotations

from typing import Any

from ..attribute import AttrScope
from ..name import NameManager, Prefix
from ..ops.card import exists, names
from . import _internal, contrib, image, layout, linalg, op, random, sparse
from .functions import (
    Custom,
    Variable,
    arange,
    eye,
    full,
    function,
    histogram,
    hypot,
    install_methods,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    var,
    zeros,
)
from .operators import Operators
from .symbol import Group, Symbol, load, load_json

install_methods(Operators)
layout.install()

__all__ = [
    "AttrScope",
    "Custom",
    "Group",
    "NameManager",
    "Prefix",
    "Symbol",
    "Variable",
    "_internal",
    "arange",
    "contrib",
    "eye",
    "full",
    "histogram",
    "hypot",
    "image",
    "linalg",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "op",
    "pow",
    "power",
    "random",
    "sparse",
    "split_v2",
    "var",
    "zeros",
]

fromjson = load_json


def __getattr__(name: str) -> Any:
    if exists(name):
        return function(name)
    raise AttributeError(f"ferromix.symbol has no operator or attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})
