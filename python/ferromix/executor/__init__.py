"""Executors: symbols bound to arrays."""

from ..symbol.binding import install
from . import bind as _bind
from .executor import Executor

__all__ = ["Executor"]

install(_bind)
