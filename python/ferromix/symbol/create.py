"""How a node of an operator comes into being: names, missing inputs, attributes of the scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..attribute import HIDDEN_KEYS, AttrScope
from ..context import spelled
from ..error import DTypeError, InvalidArgumentError
from ..graph.node import Entry, Node, argument_names
from ..literal import names_of
from ..name import NameManager
from ..ops.call import assign, named_beyond, split
from ..ops.card import OperatorProperty, find, make
from .arithmetic import Arithmetic

__all__ = ["EXTRA", "call", "create", "named", "require_own", "single"]

EXTRA = ("name", "attr", "out")
"""What functions of operators take behind what the cards say."""


def named(name: str | None, hint: str) -> str:
    """The name of a node to come, made from `hint` if it is None.

    It is asked for before all else is checked: as in MXNet, a number counts although the call then
    fails, so that names after it are the same.
    """
    return NameManager._current.value.get(name, hint)


def create(
    card: OperatorProperty,
    inputs: Mapping[str, Entry],
    name: str,
    attr: Mapping[str, str] | None,
) -> list[Entry]:
    """The visible outputs of a new node, with variables for the inputs that are not given.

    Parameters
    ----------
    card
        The operator with its attributes.
    inputs
        Inputs by name.
    name
        The node's name, which :func:`named` gave.
    attr
        Attributes of the symbol, besides those of the scope in force.

    Raises
    ------
    InvalidArgumentError
        For an input that the operator lacks, or an attribute that looks like the operator's own.
    """
    names = argument_names(card)
    for key in inputs:
        if key not in names:
            raise InvalidArgumentError(
                f"{card.name}: unknown input '{key}'; inputs: {names_of(names)}"
            )
    attrs = AttrScope._current.value.get(attr)
    require_own(card, attrs)

    def variable(key: str) -> Entry:
        return Entry(Node(None, f"{name}_{key}", [], attrs, card), 0)

    entries = [inputs[key] if key in inputs else variable(key) for key in names]
    for key, entry in zip(names, entries, strict=True):
        if key in card.initializers and entry.node.op is None:
            # As in MXNet a user's variable learns it, too, unless it has one.
            entry.node.attrs.setdefault("__init__", card.initializers[key])
    node = Node(card, name, entries, attrs)
    return node.outputs()[: node.num_visible_outputs]


def call(
    operator: str, args: Sequence[Any], kwargs: Mapping[str, Any], hint: str = ""
) -> list[Entry]:
    """What ``mx.sym.<operator>(*args, **kwargs)`` means.

    A name is made from `hint` where none is given, or from the operator's. As in MXNet, ``out`` is
    taken and says nothing.

    Raises
    ------
    InvalidArgumentError
        Inputs or attributes that the operator lacks, or that are given twice.
    DTypeError
        Something that is no symbol in the place of an input.
    """
    card = find(operator)
    args, rest = spelled(*named_beyond(card, args, kwargs, EXTRA))
    if not card.open_inputs and "out" not in (*card.arguments, *card.params):
        rest.pop("out", None)
    name = rest.pop("name", None)
    if name is not None and not isinstance(name, str):
        raise DTypeError(f"{card.name}: the name of a symbol must be a string, got {name!r}")
    attr = rest.pop("attr", None) or {}
    if not isinstance(attr, Mapping):
        raise DTypeError(f"{card.name}: attr must be a dict of attributes, got {attr!r}")
    texts = {key: str(value) for key, value in attr.items()}
    for key in [k for k in rest if _is_symbol_attribute(card, k)]:
        texts[key] = str(rest.pop(key))
    for key in (*card.arguments, *card.auxiliary_states):
        if rest.get(key) is not None and key not in card.params:
            single(rest[key], key, card.name)
    name = named(name, (hint or operator).lower())
    positional, by_name, attrs = split(card, args, rest, _is_symbol)
    made = make(operator, attrs)
    inputs = assign(made, positional, by_name)
    entries = {n: single(s, n, card.name) for n, s in inputs.items()}
    return create(made, entries, name, texts)


def single(symbol: Any, argument: str, operator: str) -> Entry:
    """The one output of a symbol that becomes an input.

    Raises
    ------
    DTypeError
        For anything but a symbol.
    InvalidArgumentError
        For a symbol of several outputs.
    """
    if not _is_symbol(symbol):
        raise DTypeError(
            f"{operator}: argument '{argument}' must be a symbol, got {type(symbol).__name__}"
        )
    entries = symbol.entries
    if len(entries) != 1:
        raise InvalidArgumentError(
            f"{operator}: argument '{argument}' must have one output, got {symbol!r} with "
            f"{len(entries)}; choose one with [...]"
        )
    return entries[0]


def require_own(card: OperatorProperty | None, attrs: Mapping[str, str]) -> None:
    """Checks that attributes for an operator's symbol do not look like the operator's own.

    An operator without parameters has none, so that its symbol may have attributes of any name.

    Raises
    ------
    InvalidArgumentError
        For a key without two underscores at both ends, of an operator that has attributes.
    """
    if card is None or card.allows_any_name():
        return
    for key in attrs:
        if not _is_decorated(key):
            raise InvalidArgumentError(
                f"{card.name}: attribute '{key}' of a symbol must start and end with two "
                f"underscores, such as '__{key}__'"
            )


def _is_symbol(value: Any) -> bool:
    return isinstance(value, Arithmetic)


def _is_symbol_attribute(card: type[OperatorProperty], key: str) -> bool:
    return key not in card.params and (key in HIDDEN_KEYS or _is_decorated(key))


def _is_decorated(key: str) -> bool:
    return len(key) > 4 and key.startswith("__") and key.endswith("__")
