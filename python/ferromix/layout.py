"""What MXNet's modules have besides their own, for scripts that take it from there."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from . import (
    base,
    context,
    initializer,
    io,
    kvstore,
    metric,
    model,
    ndarray,
    optimizer,
    random,
    symbol,
    util,
)

__all__ = ["install"]

_NAMES: dict[str, dict[str, Any]] = {
    "error": {"register": base.register_error, "register_error": base.register_error},
    "initializer": {"random": random},
    "model": {
        "io": io,
        "kvs": kvstore,
        "metric": metric,
        "nd": ndarray,
        "opt": optimizer,
        "sym": symbol,
    },
    "module.base_module": {"ndarray": ndarray},
    "module.bucketing_module": {"ctx": context, "nd": ndarray, "sym": symbol},
    "module.executor_group": {"ctx": context},
    "module.module": {"ctx": context, "nd": ndarray, "opt": optimizer},
    "module.python_module": {"nd": ndarray},
    "ndarray.contrib": {
        "mx": sys.modules["ferromix"],
        "ndarray": ndarray.ndarray,
        "uniform": ndarray.random.uniform,
    },
    "ndarray.ndarray": {"histogram": ndarray.histogram},
    "ndarray.random": {"current_context": context.current_context},
    "optimizer.contrib": {"contrib": ndarray.contrib, "zeros": ndarray.zeros},
    "optimizer.optimizer": {
        "NDArray": ndarray.NDArray,
        "array": ndarray.array,
        "clip": ndarray.clip,
        "is_np_array": util.is_np_array,
        "maximum": ndarray.maximum,
        "multi_lamb_update": ndarray.contrib.multi_lamb_update,
        "multi_mp_lamb_update": ndarray.contrib.multi_mp_lamb_update,
        "multiply": ndarray.multiply,
        "normal": ndarray.random.normal,
        "sparse": ndarray.sparse,
        "zeros": ndarray.zeros,
    },
    "rnn": {"init": initializer, "ndarray": ndarray, "symbol": symbol},
    "rnn.rnn_cell": {"init": initializer, "ndarray": ndarray, "symbol": symbol},
    "symbol.contrib": {"symbol": symbol.symbol, "uniform": symbol.random.uniform},
}


def install() -> None:
    """Enters the names, once all modules are there."""
    for path, names in _NAMES.items():
        for name, value in names.items():
            setattr(sys.modules[f"ferromix.{path}"], name, value)
    model.SKLEARN_INSTALLED = find_spec("sklearn") is not None  # pyright: ignore
