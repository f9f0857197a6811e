"""Trained networks on disk, and the oldest way to train one."""

from importlib.util import find_spec

from .. import layout
from .checkpoint import (
    BatchEndParam,
    latest_epoch,
    load_checkpoint,
    load_params,
    save_checkpoint,
)
from .feed_forward import FeedForward
from .stores import _create_kvstore as _create_kvstore
from .stores import _create_sparse_kvstore as _create_sparse_kvstore
from .stores import _initialize_kvstore as _initialize_kvstore
from .stores import _update_params as _update_params
from .stores import _update_params_on_kvstore as _update_params_on_kvstore

__all__ = [
    "BatchEndParam",
    "FeedForward",
    "latest_epoch",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]

SKLEARN_INSTALLED = find_spec("sklearn") is not None
"""Whether scikit-learn is there, as MXNet's module says."""

layout.enter("model")
