"""Imperative arrays: :class:`NDArray`, its creation, and one function for each operator.

The functions come from the operator cards at their first use; ``dir(ferromix.nd)`` lists them.
"""

from __future__ import annotations

import sys
from typing import Any

from . import contrib, layout, protocol, sparse, subgraphs, utils
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
from .cached_op import CachedOp
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
from .custom import Custom
from .dlpack import from_dlpack, from_numpy, to_dlpack_for_read, to_dlpack_for_write
from .elements import onehot_encode
from .function import function, function_names, install_methods
from .ndarray import NDArray, invoke, waitall
from .operators import Operators
from .safetensors import load_safetensors, save_safetensors
from .serialize import load, load_frombuffer, save
from .shared import from_shared_mem

protocol.install()
install_methods(Operators)
layout.install()

__all__ = [
    "CachedOp",
    "Custom",
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
    "from_dlpack",
    "from_numpy",
    "from_shared_mem",
    "full",
    "greater",
    "greater_equal",
    "invoke",
    "lesser",
    "lesser_equal",
    "linspace",
    "load",
    "load_frombuffer",
    "load_safetensors",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "onehot_encode",
    "ones",
    "power",
    "save",
    "save_safetensors",
    "sparse",
    "split_v2",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "utils",
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
