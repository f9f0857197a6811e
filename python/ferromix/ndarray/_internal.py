"""``mx.nd._internal``: the functions of the operators that begin with an underscore."""

from __future__ import annotations

import importlib
from typing import Any

from ..ops.namespaces import serve
from .elements import _copyto as _copyto
from .elements import _onehot_encode as _onehot_encode
from .elements import _set_value as _set_value
from .function import member

_operator, __dir__ = serve(__name__, member)


def __getattr__(name: str) -> Any:
    if name.startswith("_cv"):  # mx.image, which is loaded when it is first named, enters these
        importlib.import_module("...image", __name__)
        if name in globals():
            return globals()[name]
    return _operator(name)
