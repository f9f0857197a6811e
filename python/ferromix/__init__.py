"""Ferromix: MXNet's architecture on a Rust core; ``import ferromix as mx``."""

from . import (
    autograd,
    callback,
    context,
    engine,
    error,
    executor,
    initializer,
    io,
    kvstore,
    lr_scheduler,
    metric,
    model,
    ndarray,
    optimizer,
    profiler,
    random,
    storage,
    symbol,
)
from . import initializer as init
from . import kvstore as kv
from . import ndarray as nd
from . import optimizer as opt
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

__all__ = [
    "AttrScope",
    "Context",
    "Executor",
    "MXNetError",
    "NDArray",
    "Symbol",
    "__version__",
    "autograd",
    "callback",
    "context",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "engine",
    "error",
    "executor",
    "gpu",
    "init",
    "initializer",
    "io",
    "kv",
    "kvstore",
    "lr_scheduler",
    "metric",
    "model",
    "nd",
    "ndarray",
    "num_gpus",
    "opt",
    "optimizer",
    "profiler",
    "random",
    "storage",
    "sym",
    "symbol",
]
