"""The functions ``mx.nd.X`` and the methods of NDArray, made from the cards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _core
from ..ops import call, card
from ..ops.card import OperatorProperty
from ..ops.own_storage import says_storage
from ..ops.remembered import FEW
from . import methods, sources
from .ndarray import NDArray
from .operators import Operators

__all__ = ["function", "function_names", "install_methods", "member", "method_names"]


_RESULT = ("out", "name")
"""What a function takes behind inputs and attributes: where the result goes, and a name, which says
nothing."""

_FIRST = (("data",), ("lhs",), ("a",), ("indices",))
"""Names of first inputs that an array is the value of where the operator is its method."""


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


def member(name: str, called: str, module: str) -> Callable[..., Any]:
    """The function of the operator `name` in a namespace, where it is called otherwise."""
    return _make(called, card.find(name), module)


def _make(
    name: str, operator: type[OperatorProperty], module: str = "ferromix.ndarray"
) -> Callable[..., Any]:
    signature = call.signature(operator, extra=_RESULT)
    # As CPython has both in one.
    doc = f"{name}{signature}\n--\n\n{call.describe(operator)}"
    dynamic = call.dynamic_places(operator)
    most = FEW if operator.few_kept else 4096
    takes = call.positional_count(operator)
    plain = _core.function(name, module, doc, operator, dynamic, takes, most)
    says = says_storage(getattr(operator, "property_class", None), "infer_storage_type")
    if says or operator.by_values:
        return _storing(operator, plain)
    without_inputs = not operator.arguments and "ctx" in operator.params
    return sources.source(name, operator, plain) if without_inputs else plain


def with_storage(
    operator: type[OperatorProperty], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A call of an operator that knows what it gives only when it has its attributes."""
    from .protocol import call_sparse  # which is built on this package

    args, kwargs = call.named_beyond(operator, args, kwargs, _RESULT)
    attributes = {k: v for k, v in kwargs.items() if k not in _RESULT}
    return call_sparse(operator, args, attributes, kwargs.get("out"))


def _storing(operator: type[OperatorProperty], plain: Callable[..., Any]) -> Callable[..., Any]:
    """The function of an operator of a user's own that says something of storage types, or of one
    whose shapes depend on values."""

    @functools.wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        return with_storage(operator, args, kwargs)

    return run


def _method(name: str, operator: type[OperatorProperty]) -> Callable[..., Any]:
    function = _make(name, operator)

    def run(self: NDArray, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "ferromix.ndarray"
    run.__doc__ = call.describe(operator)
    run.__signature__ = call.signature(operator, extra=_RESULT)  # type: ignore[attr-defined]
    return run


def method_names() -> list[str]:
    """Every public operator in lower case whose first input has a name of :data:`_FIRST`."""
    public = (n for n in card.builtin_names() if n.islower() and not n.startswith("_"))
    return list(filter(_is_method, public))


def install_methods(cls: type[Operators]) -> None:
    """Gives the class its methods: the operators of :func:`method_names`, and `methods`."""
    for name in method_names():
        setattr(cls, name, _method(name, card.find(name)))
    for name in methods.__all__:
        setattr(cls, name, getattr(methods, name))


def _is_method(name: str) -> bool:
    operator = card.find(name)
    return operator.arguments[:1] in _FIRST and operator.variadic is None
