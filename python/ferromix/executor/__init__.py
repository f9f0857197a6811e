"""Executors: symbols bound to arrays."""

from .. import ndarray
from ..symbol import layout
from ..symbol.binding import install
from . import bind as _bind
from .executor import Executor

__all__ = ["Executor", "ndarray"]

install(_bind)
layout.install_others({"Executor": Executor, "NDArray": ndarray.NDArray})
