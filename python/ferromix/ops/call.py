"""How a call of ``mx.nd.X`` or ``mx.sym.X`` maps onto a card: inputs, attributes, signature.

As in MXNet, positional arguments are the inputs in order and then the attributes in order;
either may also be given by name. An operator with any number of inputs takes all its positional
arguments as inputs.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ..error import InvalidArgumentError
from ..literal import brief, names_of
from .card import OperatorProperty, make
from .param import REQUIRED

__all__ = [
    "assign",
    "bind",
    "describe",
    "dynamic_places",
    "named_beyond",
    "positional_count",
    "signature",
    "split",
]


def split(
    card: type[OperatorProperty],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_input: Callable[[Any], bool],
) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Inputs by position, inputs by name, and attributes of a call.

    Parameters
    ----------
    card
        The operator.
    args, kwargs
        What the user passed.
    is_input
        Tells an array (or a symbol) from an attribute.

    Raises
    ------
    InvalidArgumentError
        Too many positional arguments, or something that is no input where one belongs.
    """
    positional, attrs = _split_positional(card, args, is_input)
    named: dict[str, Any] = {}
    for key, value in kwargs.items():
        if is_input(value):
            named[key] = value
        elif value is None and key not in card.params and not card.open_attributes:
            continue
        else:
            attrs[key] = value
    if card.variadic is not None and card.variadic not in attrs:
        attrs[card.variadic] = card.count_inputs(len(positional) + len(named))
    return positional, named, attrs


def _split_positional(
    card: type[OperatorProperty], args: Sequence[Any], is_input: Callable[[Any], bool]
) -> tuple[list[Any], dict[str, Any]]:
    if card.variadic is not None:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = args[0]
        for i, value in enumerate(args):
            _require_input(card, f"arg{i}", value, is_input)
        return list(args), {}
    if card.open_inputs:
        return _split_open(card, args, is_input)
    inputs: list[Any] = []
    attrs: dict[str, Any] = {}
    names = _input_names(card)
    params = list(card.params)
    for i, value in enumerate(args):
        if i < len(names):
            if value is not None:
                _require_input(card, names[i], value, is_input)
            inputs.append(value)
        elif i - len(names) < len(params):
            attrs[params[i - len(names)]] = value
        else:
            raise InvalidArgumentError(
                f"{card.name}: takes at most {len(names) + len(params)} inputs and attributes by "
                f"position, got {len(args)}; signature: {card.name}{signature(card)}"
            )
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs, attrs


def _split_open(
    card: type[OperatorProperty], args: Sequence[Any], is_input: Callable[[Any], bool]
) -> tuple[list[Any], dict[str, Any]]:
    """As many inputs as there are, and then attributes."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = args[0]
    inputs = list(takewhile(is_input, args))
    rest = args[len(inputs) :]
    params = [] if card.open_attributes else list(card.params)
    if len(rest) > len(params):
        _require_input(card, f"arg{len(inputs)}", rest[0], is_input)
    return inputs, dict(zip(params, rest, strict=False))


def positional_count(card: type[OperatorProperty]) -> int | None:
    """How many positional arguments are inputs and attributes; None where all are."""
    if card.variadic is not None or card.open_inputs:
        return None
    return len(_input_names(card)) + len(card.params)


def named_beyond(
    card: type[OperatorProperty],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    names: Sequence[str],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of which those behind inputs and attributes have the `names`, as in MXNet.

    Where there are more, or one is also given by name, all stay as they are, for an error of
    :func:`split`.
    """
    takes = positional_count(card)
    beyond = () if takes is None else args[takes:]
    named = dict(zip(names, beyond, strict=False))
    if not beyond or len(beyond) > len(names) or named.keys() & kwargs.keys():
        return tuple(args), dict(kwargs)
    return tuple(args[:takes]), {**kwargs, **named}


def _input_names(card: type[OperatorProperty]) -> list[str]:
    """All inputs that the operator can have, auxiliary states last."""
    return [*card.arguments, *card.auxiliary_states]


def _require_input(
    card: type[OperatorProperty], name: str, value: Any, is_input: Callable[[Any], bool]
) -> None:
    if not is_input(value):
        kind = type(value).__name__
        # These are right in the other namespace.
        hint = "; mx.nd takes arrays, and mx.sym symbols" if kind in ("NDArray", "Symbol") else ""
        raise InvalidArgumentError(
            f"{card.name}: argument '{name}' must be an array or a symbol, "
            f"got {kind} {brief(value)}{hint}"
        )


def assign(
    card: OperatorProperty, positional: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """The inputs of a call by name, without those that are None.

    Raises
    ------
    InvalidArgumentError
        Too many inputs, an unknown one, or one that is given twice.
    """
    names = card.list_arguments() + card.list_auxiliary_states()
    if len(positional) > len(names):
        raise InvalidArgumentError(
            f"{card.label}: takes {len(names)} inputs ({names_of(names)}) with these attributes, "
            f"got {len(positional)}"
        )
    pairs = zip(names, positional, strict=False)
    inputs = {name: value for name, value in pairs if value is not None}
    for name, value in named.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise InvalidArgumentError(
                f"{card.label}: unknown input '{name}'{hint}; inputs: {names_of(names)}"
            )
        if name in inputs:
            raise InvalidArgumentError(f"{card.label}: argument '{name}' is given twice")
        inputs[name] = value
    return inputs


def bind(
    card: type[OperatorProperty],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_input: Callable[[Any], bool],
) -> tuple[OperatorProperty, list[Any]]:
    """The card with its attributes, and all its inputs in order.

    Raises
    ------
    InvalidArgumentError
        A missing, doubled or unknown input, or a wrong attribute.
    """
    positional, named, attrs = split(card, args, kwargs, is_input)
    made = make(card.name, attrs)
    inputs = assign(made, positional, named)
    names = made.list_arguments() + made.list_auxiliary_states()
    missing = [n for n in names if n not in inputs]
    if missing:
        raise InvalidArgumentError(
            f"{made.label}: argument '{missing[0]}' is missing; inputs: {names_of(names)}"
        )
    return made, [inputs[n] for n in names]


def dynamic_places(card: type[OperatorProperty]) -> list[tuple[str, int | None, bool]]:
    """The dynamic attributes: name, place among positional arguments, whether it is an int."""
    inputs = len(_input_names(card))
    places = {name: inputs + i for i, name in enumerate(card.params)}
    positional = card.variadic is None
    return [
        (name, places[name] if positional else None, card.params[name].kind == "int")
        for name in card.dynamic_params()
    ]


def signature(card: type[OperatorProperty], *, extra: Sequence[str] = ()) -> inspect.Signature:
    """The Python signature of the operator's function, with `extra` arguments behind its own."""
    kind = inspect.Parameter
    rows: list[inspect.Parameter] = []
    counted = card.variadic is not None or card.open_inputs
    if counted:
        rows.append(kind("data" if card.open_inputs else "args", kind.VAR_POSITIONAL))
    else:
        rows += [kind(n, kind.POSITIONAL_OR_KEYWORD, default=None) for n in _input_names(card)]
    how = kind.KEYWORD_ONLY if counted else kind.POSITIONAL_OR_KEYWORD
    for name, param in card.params.items():
        default = None if param.default is REQUIRED else param.default
        rows.append(kind(name, how, default=default))
    taken = {r.name for r in rows}
    rows += [kind(n, how, default=None) for n in extra if n not in taken]
    if card.open_inputs:
        rows.append(kind("kwargs", kind.VAR_KEYWORD))
    return inspect.Signature(rows)


def describe(card: type[OperatorProperty]) -> str:
    """The documentation of the operator's function: the card's, then its attributes."""
    lines = [inspect.cleandoc(card.__doc__ or ""), "", "Attributes", "----------"]
    for name, param in card.params.items():
        default = "required" if param.required else f"default {param.default!r}"
        lines += [f"{name} : {param.describe()}, {default}", f"    {param.doc}".rstrip()]
    return "\n".join(lines if card.params else lines[:1]) + "\n"
