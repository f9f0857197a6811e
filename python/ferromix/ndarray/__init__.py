"""Imperative arrays: :class:`NDArray`, its creation, and one function for each operator.

The functions come from the operator cards at their first use; ``dir(ferromix.nd)`` lists them.
"""

from __future__ import annotations

from typing import Any

from . import (
    _internal,
    contrib,
    image,
    layout,
    linalg,
    op,
    protocol,
    random,
    sparse,
    utils,
)
from . import subgraphs as subgraphs
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
from .elements import _copyto as _copyto
from .elements import _onehot_encode as _onehot_encode
from .elements import _set_value as _set_value
from .elements import onehot_encode
from .function import function, function_names, install_methods
from .histogram import histogram
from .keys import (
    get_indexing_dispatch_code,
    get_oshape_of_gather_nd_op,
    indexing_key_expand_implicit_axes,
)
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
    "_internal",
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
    "get_indexing_dispatch_code",
    "get_oshape_of_gather_nd_op",
    "greater",
    "greater_equal",
    "histogram",
    "image",
    "indexing_key_expand_implicit_axes",
    "invoke",
    "lesser",
    "lesser_equal",
    "linalg",
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
    "op",
    "power",
    "random",
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
    made = function(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *function_names()})
