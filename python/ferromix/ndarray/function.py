"""The functions ``mx.nd.X`` and the methods of NDArray, made from the cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from ..dispatch import cpu as dispatch
from ..ops import call, card
from ..ops.card import OperatorProperty
from .ndarray import NDArray

__all__ = ["function", "function_names", "install_methods"]


def _is_array(value: object) -> bool:
    return isinstance(value, NDArray)


def function_names() -> list[str]:
    """The names of all functions that :func:`function` makes."""
    return card.names()


def function(name: str) -> Callable[..., Any]:
    """The function of the operator `name`.

    Raises
    ------
    AttributeError
        For an unknown name, as this serves attribute access on the module.
    """
    if not card.exists(name):
        raise AttributeError(f"module 'ferromix.ndarray' has no attribute {name!r}")
    return _make(name, card.find(name))


def _make(name: str, operator: type[OperatorProperty]) -> Callable[..., Any]:
    def resolve(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_core.Call, list[NDArray]]:
        made, inputs = call.bind(operator, args, kwargs, _is_array)
        return dispatch.call(made), inputs

    function = _core.Function(resolve)

    def run(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        kwargs.pop("name", None)
        return function(args, out, kwargs)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "ferromix.ndarray"
    run.__doc__ = call.describe(operator)
    run.__signature__ = call.signature(operator, extra=("out", "name"))  # type: ignore[attr-defined]
    return run


def install_methods(cls: type) -> None:
    """Gives the class a method for each public operator whose first input is ``data``."""
    for name in card.names():
        operator = card.find(name)
        fits = operator.arguments[:1] in (("data",), ("lhs",)) and operator.variadic is None
        if fits and name.islower() and not name.startswith("_") and not hasattr(cls, name):
            setattr(cls, name, _make(name, operator))
