"""Imperative arrays: :class:`NDArray`, its creation, and one function for each operator.

The functions come from the operator cards at their first use; ``dir(ferromix.nd)`` lists them.
"""

from __future__ import annotations

import sys
from typing import Any

from . import arithmetic, contrib
from .arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)
from .creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    full,
    linspace,
    moveaxis,
    ones,
    split_v2,
    zeros,
)
from .function import function, function_names, install_methods
from .ndarray import NDArray, invoke, waitall
from .operators import Operators
from .serialize import load, save
from .shared import from_shared_mem

arithmetic.install(NDArray)
install_methods(Operators)

__all__ = [
    "NDArray",
    "add",
    "arange",
    "array",
    "concatenate",
    "contrib",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_shared_mem",
    "full",
    "greater",
    "greater_equal",
    "invoke",
    "lesser",
    "lesser_equal",
    "linspace",
    "load",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "ones",
    "power",
    "save",
    "split_v2",
    "subtract",
    "true_divide",
    "waitall",
    "zeros",
]


def __getattr__(name: str) -> Any:
    if name == "_internal":  # MXNet keeps operators with a leading underscore there.
        return sys.modules[__name__]
    made = function(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *function_names()})
