"""The passes that leave out what is computed twice, and what nobody reads.

Two nodes are one expression if they have the same operator, with the same attributes, of the same
values. Only *pure* nodes count: those that draw no random numbers, change and keep nothing, and run
no code of a user's. Since nodes are compared and never rewritten, every result keeps its bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from .. import _core
from ..ops.card import OperatorProperty
from .node import Entry, Node, cards
from .rewired import rewired

__all__ = ["live", "may_shrink", "merge", "mutated_entries"]


def mutated_entries(order: Sequence[Node]) -> set[Entry]:
    """The variables, and results of other operators, that some operator changes as its state."""
    found: set[Entry] = set()
    changed = {card: card.mutated_inputs() for card in cards(order)}
    for node in order:
        numbers = changed[node.op] if node.op is not None else ()
        if numbers:
            found.update(node.inputs[i] for i in numbers)
    return found


def may_shrink(order: Sequence[Node], kept: Collection[Entry]) -> bool:
    """Whether :func:`merge` or :func:`live` could find something in `order`: two nodes of one kind
    of operator with the same inputs, or one of which nothing is read. Most graphs have neither."""
    return _core.may_shrink(order, kept)


def merge(
    order: Sequence[Node],
    kept: Collection[Entry],
    guarded: Collection[Entry],
    is_pure: Callable[[OperatorProperty], bool],
    about: Callable[[Node], Hashable] = lambda node: None,
) -> list[Node]:
    """`order` without pure nodes that repeat an earlier one, whose readers read that one's results.

    Parameters
    ----------
    order
        Operator nodes, each after its inputs.
    kept
        Results that have to be where they are; their nodes stay, and others may be read there.
    guarded
        Values that may change in between, as states and sums of gradients do: what reads them, and
        what gives them, is no common expression.
    is_pure
        Whether two runs of a card's node on the same inputs give the same, and do nothing else.
    about
        What else has to be the same of two nodes, such as shapes and devices.
    """
    keys = _Keys()

    def facts(card: OperatorProperty) -> tuple[int, bool]:
        return keys.of(card), is_pure(card)

    return _core.merge(order, kept, guarded, facts, about, rewired)


def live(
    order: list[Node], kept: Collection[Entry], is_pure: Callable[[OperatorProperty], bool]
) -> list[Node]:
    """`order` without pure nodes whose results nobody reads.

    Parameters
    ----------
    order
        Operator nodes, each after its inputs.
    kept
        Results that are wanted.
    is_pure
        As for :func:`merge`; other nodes stay.
    """
    return _core.live(order, kept, is_pure)


class _Keys:
    """What tells cards apart: most with equal attributes are one object, but not all are."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, card: OperatorProperty) -> int:
        """The same for cards of the same operator with the same attributes."""
        text = type(card), _text(card.attrs)
        return self._numbers.setdefault(text, len(self._numbers))


def _text(attrs: Mapping[str, Any]) -> str:
    """Attributes as text, which tells 1 and 1.0 apart."""
    return repr(sorted(attrs.items()))
