"""Where MXNet has names that are in other modules here, for scripts that import them from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..attribute import AttrScope
from ..context import Context, current_context
from ..error import MXNetError, NotImplementedForSymbol
from ..util import is_np_shape
from . import functions, symbol

__all__ = ["install", "install_others"]

_OTHERS = {
    "AttrScope": AttrScope,
    "Context": Context,
    "MXNetError": MXNetError,
    "NotImplementedForSymbol": NotImplementedForSymbol,
    "current_context": current_context,
    "is_np_shape": is_np_shape,
}
_INNER = {"function", "install_methods", "member"}


def install() -> None:
    """Puts what makes symbols into ``mx.sym.symbol``, too."""
    for name in set(functions.__all__) - _INNER:
        setattr(symbol, name, getattr(functions, name))
    install_others(_OTHERS)


def install_others(others: Mapping[str, Any]) -> None:
    """Puts names into ``mx.sym.symbol``, such as those of packages that are built on this one."""
    for name, value in others.items():
        setattr(symbol, name, value)
