"""Ferromix: MXNet's architecture on a Rust core; ``import ferromix as mx``.

What every script needs is loaded at once. The other subpackages are loaded when they are first
named, so that the import takes a fifth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import (
    attribute,
    autograd,
    base,
    context,
    engine,
    error,
    executor,
    layout,
    libinfo,
    log,
    name,
    ndarray,
    operator,
    profiler,
    random,
    registry,
    resource,
    runtime,
    storage,
    symbol,
    util,
)
from . import ndarray as nd
from . import random as rnd
from . import symbol as sym
from ._core import __version__
from .attribute import AttrScope
from .context import (
    Context,
    cpu,
    cpu_pinned,
    cpu_shared,
    current_context,
    gpu,
    num_gpus,
)
from .error import MXNetError
from .executor import Executor
from .ndarray import NDArray
from .symbol import Symbol
from .util import is_np_array, is_np_shape, np_shape, set_np_shape, use_np_shape

if TYPE_CHECKING:
    from . import (
        callback,
        contrib,
        executor_manager,
        gluon,
        image,
        initializer,
        io,
        kvstore,
        lr_scheduler,
        metric,
        model,
        module,
        monitor,
        onnx,
        optimizer,
        recordio,
        rnn,
        rtc,
        test_utils,
        visualization,
    )
    from . import image as img
    from . import initializer as init
    from . import kvstore as kv
    from . import module as mod
    from . import monitor as mon
    from . import optimizer as opt
    from . import visualization as viz

__all__ = [
    "AttrScope",
    "Context",
    "Executor",
    "MXNetError",
    "NDArray",
    "Symbol",
    "__version__",
    "attribute",
    "autograd",
    "base",
    "callback",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "engine",
    "error",
    "executor",
    "executor_manager",
    "gluon",
    "gpu",
    "image",
    "img",
    "init",
    "initializer",
    "io",
    "is_np_array",
    "is_np_shape",
    "kv",
    "kvstore",
    "libinfo",
    "log",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np_shape",
    "num_gpus",
    "onnx",
    "operator",
    "opt",
    "optimizer",
    "profiler",
    "random",
    "recordio",
    "registry",
    "resource",
    "rnd",
    "rnn",
    "rtc",
    "runtime",
    "set_np_shape",
    "storage",
    "sym",
    "symbol",
    "test_utils",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]

_SHORT = {
    "img": "image",
    "init": "initializer",
    "kv": "kvstore",
    "mod": "module",
    "mon": "monitor",
    "opt": "optimizer",
    "viz": "visualization",
}
"""Of the subpackages that are loaded when they are first named, the short names."""

_LATER = frozenset(
    {
        "callback",
        "contrib",
        "executor_manager",
        "gluon",
        "image",
        "initializer",
        "io",
        "kvstore",
        "lr_scheduler",
        "metric",
        "model",
        "module",
        "monitor",
        "onnx",
        "optimizer",
        "recordio",
        "rnn",
        "rtc",
        "test_utils",
        "visualization",
    }
)


def __getattr__(name: str) -> Any:
    """Loads a subpackage at its first use."""
    path = _SHORT.get(name, name)
    if path not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{path}", __name__)
    globals()[name] = module
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), *_SHORT, *_LATER})


layout.enter("error", "ndarray", "symbol")
