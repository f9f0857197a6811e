"""What MXNet's modules have besides their own, for scripts that take it from there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["enter"]

_NDARRAY = {"ndarray": "ndarray"}
_MODULES = {"init": "initializer", "ndarray": "ndarray", "symbol": "symbol"}

_IO = {
    "_getdata_by_idx": "io.utils:_getdata_by_idx",
    "_has_instance": "io.utils:_has_instance",
    "_init_data": "io.utils:_init_data",
}

_NAMES: dict[str, dict[str, str]] = {
    "error": {"register": "base:register_error", "register_error": "base:register_error"},
    "initializer": {"random": "random"},
    "io": _IO,
    "io.io": _IO,
    "model": {
        "_multiple_callbacks": "model.callbacks:call",
        "io": "io",
        "kvs": "kvstore",
        "metric": "metric",
        "nd": "ndarray",
        "opt": "optimizer",
        "sym": "symbol",
    },
    "module.base_module": {
        "_as_list": "base:_as_list",
        "_check_input_names": "module.describe:_check_input_names",
        "_check_names_match": "module.describe:_check_names_match",
        "_parse_data_desc": "module.describe:_parse_data_desc",
        **_NDARRAY,
    },
    "module.bucketing_module": {"ctx": "context", "nd": "ndarray", "sym": "symbol"},
    "module.executor_group": {
        "_merge_multi_context": "module.split:merged",
        "_prepare_group2ctxs": "module.split:per_device",
        "ctx": "context",
    },
    "module.module": {
        "_check_input_names": "module.describe:_check_input_names",
        "_create_kvstore": "model.stores:_create_kvstore",
        "_initialize_kvstore": "model.stores:_initialize_kvstore",
        "_parse_data_desc": "module.describe:_parse_data_desc",
        "_update_params": "model.stores:_update_params",
        "_update_params_on_kvstore": "model.stores:_update_params_on_kvstore",
        "ctx": "context",
        "nd": "ndarray",
        "opt": "optimizer",
    },
    "module.python_module": {"nd": "ndarray"},
    "ndarray.contrib": {
        "mx": "",
        "ndarray": "ndarray.ndarray",
        "uniform": "ndarray.random:uniform",
    },
    "ndarray._internal": {
        "_cvcopyMakeBorder": "image:copyMakeBorder()",
        "_cvimdecode": "image:imdecode()",
        "_cvimread": "image:imread()",
        "_cvimresize": "image:imresize()",
    },
    "ndarray.ndarray": {"histogram": "ndarray:histogram"},
    "ndarray.random": {"current_context": "context:current_context"},
    "optimizer.contrib": {"contrib": "ndarray.contrib", "zeros": "ndarray:zeros"},
    "optimizer.optimizer": {
        "NDArray": "ndarray:NDArray",
        "array": "ndarray:array",
        "clip": "ndarray:clip",
        "is_np_array": "util:is_np_array",
        "maximum": "ndarray:maximum",
        "multi_lamb_update": "ndarray.contrib:multi_lamb_update",
        "multi_mp_lamb_update": "ndarray.contrib:multi_mp_lamb_update",
        "multiply": "ndarray:multiply",
        "normal": "ndarray.random:normal",
        "sparse": "ndarray.sparse",
        "zeros": "ndarray:zeros",
    },
    "rnn": _MODULES,
    "rnn.rnn_cell": _MODULES,
    "symbol.contrib": {"symbol": "symbol.symbol", "uniform": "symbol.random:uniform"},
}
"""By module: each name, and the module, or the module's attribute, that it means.

A function whose module is loaded at the first call has parentheses.
"""


def enter(*packages: str) -> None:
    """Enters the names of the packages' modules, which are loaded."""
    for path, names in _NAMES.items():
        if path.partition(".")[0] in packages:
            for name, meant in names.items():
                setattr(sys.modules[f"ferromix.{path}"], name, _find(meant))


def _find(meant: str) -> Any:
    if meant.endswith("()"):
        return _later(meant.removesuffix("()"))
    path, _, attribute = meant.partition(":")
    module = import_module(f"ferromix.{path}".rstrip("."))
    return getattr(module, attribute) if attribute else module


def _later(meant: str) -> Callable[..., Any]:
    def call(*args: Any, **attributes: Any) -> Any:
        return _find(meant)(*args, **attributes)

    call.__name__ = call.__qualname__ = meant.partition(":")[2]
    call.__doc__ = (
        f"``ferromix.{meant.replace(':', '.')}``, which MXNet counts among the operators."
    )
    return call
