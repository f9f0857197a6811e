"""Ferromix: MXNet's architecture on a Rust core; ``import ferromix as mx``."""

from . import (
    attribute,
    autograd,
    base,
    callback,
    context,
    engine,
    error,
    executor,
    gluon,
    image,
    initializer,
    io,
    kvstore,
    libinfo,
    lr_scheduler,
    metric,
    model,
    module,
    monitor,
    name,
    ndarray,
    operator,
    optimizer,
    profiler,
    random,
    recordio,
    registry,
    resource,
    rnn,
    rtc,
    runtime,
    storage,
    symbol,
    test_utils,
    util,
    visualization,
)
from . import image as img
from . import initializer as init
from . import kvstore as kv
from . import module as mod
from . import monitor as mon
from . import ndarray as nd
from . import optimizer as opt
from . import random as rnd
from . import symbol as sym
from . import visualization as viz
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
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "engine",
    "error",
    "executor",
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
