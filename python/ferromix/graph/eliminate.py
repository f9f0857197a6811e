"""The passes that leave out what is computed twice, and what nobody reads.

Two nodes are one expression if they have the same operator, with the same attributes, of the same
values. Only *pure* nodes count: those that draw no random numbers, change and keep nothing, and run
no code of a user's. Since nodes are compared and never rewritten, every result keeps its bits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from .. import _core
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
    is_pure: Callable[[Node], bool],
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
        Whether two runs of a node on the same inputs give the same, and do nothing else.
    about
        What else has to be the same of two nodes, such as shapes and devices.
    """
    moved: dict[Entry, Entry] = {}
    first: dict[Hashable, Node] = {}
    keys, unsteady = _Keys(), set(guarded)
    result: list[Node] = []
    for node in order:
        inputs = [moved.get(e, e) for e in node.inputs] if moved else node.inputs
        outputs = node.outputs()
        steady = unsteady.isdisjoint(inputs) and unsteady.isdisjoint(outputs)
        if steady and is_pure(node):
            found = first.setdefault((keys.of(node.op), tuple(inputs)), node)
            same = found is not node and about(found) == about(node)
            if same and not any(e in kept for e in outputs):
                moved.update(zip(outputs, found.outputs(), strict=True))
                continue
        result.append(rewired(node, inputs) if moved else node)
    return result


def live(
    order: Sequence[Node], kept: Collection[Entry], is_pure: Callable[[Node], bool]
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
    wanted: set[Entry] = set()
    result: list[Node] = []
    for node in reversed(order):
        for entry in node.outputs():
            if entry in wanted or entry in kept:
                break
        else:
            if is_pure(node):
                continue
        wanted.update(node.inputs)
        result.append(node)
    return result[::-1]


class _Keys:
    """What tells cards apart: most with equal attributes are one object, but not all are."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Any, int]] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, card: Any) -> int:
        """The same for cards of the same operator with the same attributes."""
        found = self._keys.get(id(card))
        if found is None:
            # The card is kept, so that no other one gets its number.
            text = type(card), _text(card.attrs)
            found = card, self._numbers.setdefault(text, len(self._numbers))
            self._keys[id(card)] = found
        return found[1]


def _text(attrs: Mapping[str, Any]) -> str:
    """Attributes as text, which tells 1 and 1.0 apart."""
    return repr(sorted(attrs.items()))
